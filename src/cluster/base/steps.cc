// Where the time of steps went, of ranks and of stages.
#include <algorithm>
#include <array>
#include <tuple>

#include "base/strings.h"
#include "cluster/base/base.h"
#include "report/csv_writer.h"

namespace sonde::cluster {
namespace {

struct StageStep {
  std::string step;
  std::vector<int32_t> ranks;
  std::array<double, kStepColumns> us{};  // the greatest of its ranks
};

// By step and stage; ranks of no stage are one without ranks.
std::vector<StageStep> StageSteps(Ranks ranks, const std::vector<std::vector<int32_t>>& stages) {
  std::map<std::pair<std::string, std::vector<int32_t>>, StageStep> steps;
  for (const RankPart& rank : ranks) {
    std::vector<int32_t> own;
    for (const auto& stage : stages) {
      if (std::binary_search(stage.begin(), stage.end(), rank.rank)) own = stage;
    }
    for (const DeliveredStep& step : rank.part.Rows<DeliveredStep>()) {
      const auto [found, is_new] = steps.try_emplace({step.step, own});
      StageStep& sum = found->second;
      for (size_t i = 0; i < step.us.size(); ++i) {
        sum.us[i] = is_new ? step.us[i] : std::max(sum.us[i], step.us[i]);
      }
    }
  }
  std::vector<StageStep> list;
  for (auto& [key, step] : steps) {
    std::tie(step.step, step.ranks) = key;
    list.push_back(std::move(step));
  }
  return list;
}

// Calls row(step, type, index, times, place) for each row; `rank` -1 of a stage.
template <class Row>
void ForEachRow(Ranks ranks, const std::vector<KnownGroup>& groups, std::string_view between,
                const Row& row) {
  for (const RankPart& rank : ranks) {
    for (const DeliveredStep& step : rank.part.Rows<DeliveredStep>()) {
      row(step.step, "rank", std::to_string(rank.rank), step.us, rank.rank);
    }
  }
  const auto stages = StagesOf(groups);
  if (stages.empty()) return;
  for (const StageStep& step : StageSteps(ranks, stages)) {
    row(step.step, "stage", TupleText(step.ranks, between), step.us, -1);
  }
}

}  // namespace

Table StepTable(Ranks ranks, const std::vector<KnownGroup>& groups) {
  Table table(kClusterStep);
  const ParallelPlaces places(ranks);
  ForEachRow(ranks, groups, ",",
             [&](const std::string& step, std::string_view type, const std::string& index,
                 const std::array<double, kStepColumns>& us, int32_t rank) {
               step.empty() ? table.Null() : table.Text(step);
               table.Text(type);
               table.Text(index);
               for (const double value : us) table.Double(value);
               const auto place = places.Of(rank);
               const bool has_none = places.known() && !place;  // as of every stage
               const ParallelPlace shown = place.value_or(ParallelPlace());
               for (const int64_t number : {shown.dp, shown.pp, shown.tp}) {
                 has_none || rank < 0 ? table.Text("NA") : table.Int(number);
               }
               table.EndRow();
             });
  return table;
}

std::string StepCsv(Ranks ranks, const std::vector<KnownGroup>& groups) {
  constexpr size_t kPlaces = 3;
  report::CsvWriter csv(nullptr);
  const ParallelPlaces places(ranks);
  const size_t columns = kClusterStepNames.size() - (places.known() ? 0 : kPlaces);
  for (size_t i = 0; i < columns; ++i) csv.Text(kClusterStepNames[i].text);
  csv.EndRow();
  ForEachRow(ranks, groups, ", ",
             [&](const std::string& step, std::string_view type, const std::string& index,
                 const std::array<double, kStepColumns>& us, int32_t rank) {
               csv.Text(step);
               csv.Text(type);
               csv.Text(index);
               for (const double value : us) csv.Double(value);
               const auto place = places.Of(rank);
               const ParallelPlace shown = place.value_or(ParallelPlace());
               for (const int64_t number : {shown.dp, shown.pp, shown.tp}) {
                 if (places.known()) csv.Text(place ? std::to_string(number) : "NA");
               }
               csv.EndRow();
             });
  return csv.Take();
}

}  // namespace sonde::cluster
