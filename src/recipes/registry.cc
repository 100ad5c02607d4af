#include "recipes/registry.h"

#include <array>
#include <deque>
#include <utility>

namespace sonde::recipes {

// One line each.
#define SONDE_RECIPES(R)  \
  R(kStepTrace)           \
  R(kOverlapAnalysis)     \
  R(kOpStatistic)         \
  R(kApiStatistic)        \
  R(kOperatorDetails)     \
  R(kKernelDetails)       \
  R(kLaneDepth)           \
  R(kOperatorMemory)      \
  R(kMemoryRecord)        \
  R(kMemorySummary)       \
  R(kCommunication)       \
  R(kCommunicationMatrix) \
  R(kTopModules)          \
  R(kServingSummary)      \
  R(kCoverage)            \
  R(kFinding)             \
  R(kDeviceGaps)

#define SONDE_RECIPE(name) extern const Recipe name##Recipe;
SONDE_RECIPES(SONDE_RECIPE)
#undef SONDE_RECIPE

namespace {

#define SONDE_RECIPE(name) &name##Recipe,
constexpr auto kRecipes = std::to_array<const Recipe*>({SONDE_RECIPES(SONDE_RECIPE)});
#undef SONDE_RECIPE

constexpr store::ResultColumnInfo kRank = {"rank", store::ResultType::kOpt, "",
                                           store::KeyOf("rank"), "global rank of the trace"};

class Made final : public store::MadeTables {
 public:
  explicit Made(std::vector<RankedStore> stores) : stores_(std::move(stores)) {
    for (const Recipe* recipe : kRecipes) {
      tables_.push_back(*recipe->result);
      if (stores_.size() == 1) continue;
      auto& columns = columns_.emplace_back(1, kRank);
      columns.insert(columns.end(), recipe->result->columns.begin(), recipe->result->columns.end());
      tables_.back().columns = columns;
    }
  }
  std::span<const store::ResultInfo> tables() const override { return tables_; }
  Status Fill(const store::ResultInfo& table, store::RowSink& rows) const override {
    const Recipe& recipe = *FindRecipe(table.name);
    if (stores_.size() == 1) return RunRecipe(recipe, *stores_[0].store, rows);
    for (const RankedStore& one : stores_) {
      store::PrefixSink prefixed(rows, [&](store::RowSink& sink) {
        store::ResultValue<store::ResultType::kOpt>::Put(one.rank, sink);
      });
      SONDE_RETURN_IF_ERROR(RunRecipe(recipe, *one.store, prefixed));
    }
    return {};
  }

 private:
  std::vector<RankedStore> stores_;
  std::vector<store::ResultInfo> tables_;
  std::deque<std::vector<store::ResultColumnInfo>> columns_;
};

}  // namespace

std::span<const Recipe* const> Recipes() { return kRecipes; }

const Recipe* FindRecipe(std::string_view name) {
  for (const Recipe* recipe : kRecipes) {
    if (recipe->result->name == name) return recipe;
  }
  return nullptr;
}

std::span<const store::ResultInfo* const> Results() {
  static const auto results = [] {
    std::array<const store::ResultInfo*, kRecipes.size()> list{};
    for (size_t i = 0; i < list.size(); ++i) list[i] = kRecipes[i]->result;
    return list;
  }();
  return results;
}

Status RunRecipe(const Recipe& recipe, const store::Store& store, store::RowSink& rows) {
  SONDE_ASSIGN_OR_RETURN(const TraceData data, TraceData::Load(store, /*threads=*/0, recipe.needs));
  recipe.run(DeviceView::Make(data, recipe.needs.device_times), rows);
  return {};
}

std::shared_ptr<const store::MadeTables> MakeResults(std::vector<RankedStore> stores) {
  return std::make_shared<Made>(std::move(stores));
}

}  // namespace sonde::recipes
