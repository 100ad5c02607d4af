#include "recipes/registry.h"

#include <array>
#include <vector>

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
  R(kRequestTime)         \
  R(kRequestPath)         \
  R(kLoopPause)           \
  R(kEngineStepPart)      \
  R(kCoverage)            \
  R(kFinding)             \
  R(kDeviceGaps)          \
  R(kHostActivity)        \
  R(kCompilation)         \
  R(kCompiledKernel)      \
  R(kTaskLaunch)          \
  R(kMeanStep)

#define SONDE_RECIPE(name) extern const Recipe name##Recipe;
SONDE_RECIPES(SONDE_RECIPE)
#undef SONDE_RECIPE

namespace {

#define SONDE_RECIPE(name) &name##Recipe,
constexpr auto kRecipes = std::to_array<const Recipe*>({SONDE_RECIPES(SONDE_RECIPE)});
#undef SONDE_RECIPE

class Made final : public store::MadeTables {
 public:
  explicit Made(const store::Store& store) : store_(store) {
    for (const Recipe* recipe : kRecipes) tables_.push_back(*recipe->result);
  }
  std::span<const store::ResultInfo> tables() const override { return tables_; }
  Status Fill(const store::ResultInfo& table, store::RowSink& rows) const override {
    return RunRecipe(*FindRecipe(table.name), store_, rows);
  }

 private:
  const store::Store& store_;
  std::vector<store::ResultInfo> tables_;
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

std::shared_ptr<const store::MadeTables> MakeResults(const store::Store& store) {
  return std::make_shared<Made>(store);
}

}  // namespace sonde::recipes
