#include "recipes/finding/slow_rank.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/host/json.h"
#include "base/strings.h"
#include "recipes/finding/limits.h"

namespace sonde::recipes {
namespace {

// The place of the rank in its group of the pipeline.
int64_t StageOf(const TraceData& data, int64_t rank) {
  for (const CommunicationGroup& group : data.groups) {
    if (data.Name(group.description) != "pp") continue;
    const auto list = base::JsonDocument::Parse(group.rank_list, "rank_list");
    if (!list.ok()) continue;
    int64_t place = 0;
    for (const base::JsonValue& member : list->root().Elements()) {
      if (member.AsInt().value_or(-1) == rank) return place;
      ++place;
    }
  }
  return 0;
}

int64_t LowerMedian(std::vector<int64_t> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void FindSlow(const std::vector<const RankWork*>& ranks, std::vector<Finding>& findings) {
  std::set<int64_t> numbers;
  for (const RankWork* rank : ranks) numbers.insert(rank->rank);
  // A rank that occurs twice belongs to two runs that cannot be distinguished.
  if (ranks.size() < 2 || numbers.size() < ranks.size()) return;
  const auto* slow = *std::max_element(
      ranks.begin(), ranks.end(),
      [](const auto* a, const auto* b) { return a->computing_ns < b->computing_ns; });
  std::vector<int64_t> computing;
  std::vector<int64_t> waiting;  // of the others
  for (const RankWork* rank : ranks) {
    computing.push_back(rank->computing_ns);
    if (rank != slow) waiting.push_back(rank->exposed_ns);
  }
  const int64_t median_ns = LowerMedian(std::move(computing));
  const auto longer_ns = static_cast<double>(slow->computing_ns - median_ns);
  const double share = longer_ns / static_cast<double>(median_ns);
  const auto waited_ns = static_cast<double>(LowerMedian(std::move(waiting)) - slow->exposed_ns);
  if (share < kSlowRankShare.value || waited_ns < kWaitedShare.value * longer_ns) return;
  Finding finding;
  finding.rule = "slow_rank";
  finding.severity = "warning";
  finding.confidence = std::min(1.0, waited_ns / longer_ns);
  finding.rank = slow->rank;
  finding.trace = slow->trace;
  finding.subject = base::Concat("rank ", std::to_string(slow->rank));
  finding.value = 100 * share;
  finding.unit = "%";
  finding.limit = 100 * kSlowRankShare.value;
  finding.text_key = finding.rule;
  const auto tenths = static_cast<int64_t>(1000 * share);
  finding.arguments = {std::to_string(slow->rank),
                       base::Concat(std::to_string(tenths / 10), ".", std::to_string(tenths % 10))};
  finding.evidence =
      "SELECT rank, avg(computing_ns) AS computing_ns, avg(not_overlapped_ns) AS "
      "not_overlapped_ns FROM step_trace GROUP BY rank ORDER BY rank";
  findings.push_back(std::move(finding));
}

}  // namespace

RankWork WorkOf(const DeviceView& view) {
  RankWork work;
  work.rank = view.settings.rank.value_or(-1);
  work.stage = StageOf(*view.data, work.rank);
  for (const Device& device : view.devices) {
    const auto count = static_cast<int64_t>(device.steps.size());
    if (count == 0) continue;
    int64_t computing_ns = 0;
    int64_t exposed_ns = 0;
    for (const StepTraceRow& step : device.steps) {
      computing_ns += step.computing_ns;
      exposed_ns += step.not_overlapped_without_receive_ns;
    }
    if (computing_ns / count <= work.computing_ns) continue;
    work.computing_ns = computing_ns / count;
    work.exposed_ns = exposed_ns / count;
  }
  return work;
}

Result<TraceFindings> FindingsOf(const store::Store& store) {
  const Needs needs = kFindingNeeds.WithDeviceTimes();
  SONDE_ASSIGN_OR_RETURN(const TraceData data, TraceData::Load(store, /*threads=*/0, needs));
  const auto view = DeviceView::Make(data);
  return TraceFindings{FindingsOf(view), WorkOf(view)};
}

std::vector<Finding> SlowRanks(std::span<const RankWork> ranks) {
  std::map<std::pair<int64_t, int64_t>, std::vector<const RankWork*>> stages;
  for (const RankWork& rank : ranks) {
    // A rank without a number, or without recorded computing, cannot be judged.
    if (rank.rank < 0 || rank.computing_ns <= 0) continue;
    stages[{rank.run, rank.stage}].push_back(&rank);
  }
  std::vector<Finding> findings;
  for (const auto& [stage, list] : stages) FindSlow(list, findings);
  return findings;
}

}  // namespace sonde::recipes
