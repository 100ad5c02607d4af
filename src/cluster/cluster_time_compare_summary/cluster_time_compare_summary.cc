// cluster_time_compare_summary: cluster_time_summary of two runs, side by side.
//
//   XBase  the measure in the base run (--bp)      XDiff  X - XBase
// Rows of both are joined by rank and step; those of one alone are left out and counted. The
// reference wants both summaries made before; here they are made at once. Table
// ClusterTimeCompareSummary. Units: microseconds. Pure but for reading the base run.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "base/count_of.h"
#include "base/strings.h"
#include "cluster/cluster_time_summary/cluster_time_summary.h"
#include "cluster/delivered/delivered.h"
#include "cluster/frame/add_finding.h"
#include "cluster/frame/other_run.h"
#include "recipes/launch/host_calls.h"

namespace sonde::cluster {
namespace {

using base::Concat;

#define SONDE_COMPARED(C, X, name, meaning)                                      \
  C(X, Double, name, "", "us", kLess, meaning)                                   \
  C(X##_base, Double, name "Base", "", "us", kLess, meaning ", in the base run") \
  C(X##_diff, Double, name "Diff", "", "us", kLess, meaning ", less that of the base run")
#define SONDE_COLUMNS_TIME_COMPARE(C)                                                         \
  SONDE_TIME_KEYS(C)                                                                          \
  SONDE_COMPARED(C, step_us, "stepTime", "the step")                                          \
  SONDE_COMPARED(C, computing_us, "computation", "computing")                                 \
  SONDE_COMPARED(C, not_overlapped_us, "communicationNotOverlapComputation", "communicating") \
  SONDE_COMPARED(C, overlapped_us, "communicationOverlapComputation", "both at once")         \
  SONDE_COMPARED(C, communication_us, "communication", "all communicating")                   \
  SONDE_COMPARED(C, free_us, "free", "free")                                                  \
  SONDE_COMPARED(C, wait_us, "communicationWaitStageTime", "waiting")                         \
  SONDE_COMPARED(C, transmit_us, "communicationTransmitStageTime", "transferring")            \
  SONDE_COMPARED(C, memory_us, "memory", "copies")                                            \
  SONDE_COMPARED(C, memory_alone_us, "memoryNotOverlapComputationCommunication",              \
                 "copies by themselves")
SONDE_CLUSTER_TABLE(TimeCompareRow, kTimeCompare, "cluster_time_compare_summary",
                    "ClusterTimeCompareSummary", "cluster_time_compare_summary",
                    SONDE_COLUMNS_TIME_COMPARE, "where the time of steps went, in two runs")

TimeCompareRow Compared(const TimeSummaryRow& own, const TimeSummaryRow& base) {
  TimeCompareRow row{.rank = own.rank, .step_id = own.step_id};
#define SONDE_COMPARE(X) \
  row.X = own.X;         \
  row.X##_base = base.X; \
  row.X##_diff = own.X - base.X;
  SONDE_COMPARE(step_us)
  SONDE_COMPARE(computing_us)
  SONDE_COMPARE(not_overlapped_us)
  SONDE_COMPARE(overlapped_us)
  SONDE_COMPARE(communication_us)
  SONDE_COMPARE(free_us)
  SONDE_COMPARE(wait_us)
  SONDE_COMPARE(transmit_us)
  SONDE_COMPARE(memory_us)
  SONDE_COMPARE(memory_alone_us)
#undef SONDE_COMPARE
  return row;
}

using Change = std::pair<double, std::string_view>;  // us, and of what
Change MostChangedPart(const TimeCompareRow& row) {
  const std::array<Change, 4> parts = {
      {{row.computing_us_diff, "computation"},
       {row.not_overlapped_us_diff, "communicationNotOverlapComputation"},
       {row.free_us_diff, "free"},
       {row.memory_alone_us_diff, "memoryNotOverlapComputationCommunication"}}};
  return *std::ranges::max_element(parts, {},
                                   [](const Change& part) { return std::abs(part.first); });
}

// The step whose time changed most, and the part of it that did; where none took another time, the
// part that changed most.
void ReportChange(const std::vector<TimeCompareRow>& rows, Outcome& outcome) {
  constexpr double kLeastShare = 0.001;
  const auto& slowest = *std::ranges::max_element(
      rows, {}, [](const TimeCompareRow& row) { return std::abs(row.step_us_diff); });
  const auto& moved = *std::ranges::max_element(
      rows, {}, [](const TimeCompareRow& row) { return std::abs(MostChangedPart(row).first); });
  const auto milliseconds = [](const Change& part) {
    return Concat(Fixed(part.first / 1e3, 3), " ms");
  };
  if (std::abs(slowest.step_us_diff) > kLeastShare * slowest.step_us_base) {
    const Change part = MostChangedPart(slowest);
    AddFinding(outcome, "cluster.time_compare",
               {std::to_string(slowest.rank), std::to_string(slowest.step_id),
                Duration(1e3 * slowest.step_us), Duration(1e3 * slowest.step_us_base),
                std::string(part.second), milliseconds(part)},
               kTimeCompare)
        .rank = slowest.rank;
    return;
  }
  const Change part = MostChangedPart(moved);
  if (part.first == 0) {
    AddFinding(outcome, "cluster.time_compare_same", {}, kTimeCompare);
    return;
  }
  AddFinding(outcome, "cluster.time_compare_within",
             {std::to_string(moved.rank), std::to_string(moved.step_id), std::string(part.second),
              milliseconds(part)},
             kTimeCompare)
      .rank = moved.rank;
}

Status MapClusterTimeCompareSummary(const RankInput& rank, Part& part) {
  return kClusterTimeSummaryMode.map(rank, part);
}

Status ReduceClusterTimeCompareSummary(std::span<const RankPart> ranks, const ModeOptions& options,
                                       Outcome& outcome) {
  SONDE_ASSIGN_OR_RETURN(auto base_ranks, MapFolder(kClusterTimeSummaryMode,
                                                    TextOf(options.values, kBaseRun), {}, options));
  std::erase_if(base_ranks, [](const RankPart& part) { return part.part.empty(); });
  std::map<std::pair<int64_t, int64_t>, TimeSummaryRow> base_rows;
  for (const TimeSummaryRow& row : TimeSummary(base_ranks)) {
    base_rows[{row.rank, row.step_id}] = row;
  }
  std::vector<TimeCompareRow> rows;
  size_t dropped = 0;
  for (const TimeSummaryRow& row : TimeSummary(ranks)) {
    const auto found = base_rows.find({row.rank, row.step_id});
    if (found == base_rows.end()) {
      ++dropped;
    } else {
      rows.push_back(Compared(row, found->second));
    }
  }
  if (rows.empty()) {
    return base::NotFoundError("no rank and step is in both runs: compare the same --step_id");
  }
  if (dropped > 0) {
    outcome.notices.push_back(Concat(base::CountOf(dropped, "row has", "rows have"),
                                     " no rank and step in the base run, left out"));
  }
  outcome.tables = {TableOf(kTimeCompare, rows)};
  ReportChange(rows, outcome);
  return {};
}

constexpr std::array kClusterTimeCompareSummaryTables = {&kTimeCompare};
constexpr std::array kClusterTimeCompareSummaryOptions = {&kBaseRun};

}  // namespace

extern const Mode kClusterTimeCompareSummaryMode;
constexpr Mode kClusterTimeCompareSummaryMode = {
    .name = "cluster_time_compare_summary",
    .folder = "ClusterTimeCompareSummary",
    .summary = "Times of cluster_time_summary compared with a base run (--bp)",
    .tables = kClusterTimeCompareSummaryTables,
    .needs = StepNeeds() | recipes::HostCallNeeds(),
    .wants = "steps or kernels (a recording with the device or, on a CPU, --profile-with-cpu)",
    .options = kClusterTimeCompareSummaryOptions,
    .check = &CheckBaseRun,
    .map = &MapClusterTimeCompareSummary,
    .reduce = &ReduceClusterTimeCompareSummary};

}  // namespace sonde::cluster
