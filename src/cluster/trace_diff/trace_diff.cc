// trace_diff: how often operators and kernels ran and how long, in two runs, side by side.
//
//   operators  of the framework, with their calls; kernels, copies and memsets of devices
//   change     added, deleted (of the base run, --bp, alone), increased, decreased, unchanged: by
//              the counts, as HolisticTraceAnalysis' TraceDiff has it
// Counts and times are summed over the ranks that are in both runs; a notice names the others. Two
// single ranks are compared whatever their numbers. With
// --step_id what begins in that step of either run counts. Table TraceDiff, the greatest change of
// time first. Units: nanoseconds. Pure but for reading the base run.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/count_of.h"
#include "base/strings.h"
#include "cluster/frame/add_finding.h"
#include "cluster/frame/facts.h"
#include "cluster/frame/other_run.h"

namespace sonde::cluster {
namespace {

#define SONDE_COLUMNS_TRACE_DIFF(C)                                              \
  C(kind, Text, "kind", "", "", KeyOf("kind"), "operator or kernel")             \
  C(name, Text, "name", "", "", KeyOf("kernel"), "its name")                     \
  C(change, Text, "change", "", "", kLabel,                                      \
    "added, deleted, increased, decreased or unchanged: by the counts")          \
  C(count, Int, "Count", "", "", kNeither, "how often")                          \
  C(count_base, Int, "CountBase", "", "", kNeither, "how often in the base run") \
  C(count_diff, Int, "CountDiff", "", "", kNeither, "the difference")            \
  C(total_ns, Int, "TotalNs", "", "ns", kLess, "time")                           \
  C(total_ns_base, Int, "TotalBaseNs", "", "ns", kLess, "time in the base run")  \
  C(total_ns_diff, Int, "TotalDiffNs", "", "ns", kLess, "the difference")
SONDE_CLUSTER_TABLE(TraceDiffRow, kTraceDiff, "trace_diff", "TraceDiff", "trace_diff",
                    SONDE_COLUMNS_TRACE_DIFF, "operators and kernels of two runs")

constexpr std::string_view kOperator = "operator";
constexpr std::string_view kKernel = "kernel";

struct Ran {
  std::string kind;
  std::string name;
  int64_t count = 0;
  int64_t ns = 0;
};
using Sums = std::map<std::pair<std::string_view, std::string_view>, Ran>;

void Add(std::string_view kind, std::string_view name, int64_t count, int64_t ns, Sums& sums) {
  Ran& sum = sums[{kind, name}];
  sum.kind = kind;
  if (sum.name.empty()) sum.name = name;
  sum.count += count;
  sum.ns += ns;
}

Status MapTraceDiff(const RankInput& rank, Part& part) {
  const recipes::TraceData& data = rank.data();
  Sums sums;
  for (const store::DeviceTaskRow& task : data.tasks) {
    const store::TaskKindRow& kind = data.kinds[static_cast<size_t>(task.kind_id)];
    const std::string_view name = data.Name(kind.name);
    const bool is_work =
        kind.core != store::kNone || IsCopy(data, kind) || name.starts_with("Memset");
    if (!is_work || !rank.window.Has(task.ts)) continue;
    Add(kKernel, name, 1, std::max<int64_t>(task.dur, 0), sums);
  }
  for (const store::FrameworkOpRow& op : data.ops) {
    const store::SliceRow& slice = data.Slice(op.slice_id);
    if (data.Name(slice.category) != "cpu_op" || !rank.window.Has(slice.ts)) continue;
    Add(kOperator, data.Name(slice.name), 1, data.DurationNs(slice), sums);
  }
  for (auto& [key, sum] : sums) part.Rows<Ran>().push_back(std::move(sum));
  return {};
}

Sums SumsOf(std::span<const RankPart> ranks, const std::set<int32_t>& wanted) {
  Sums sums;
  for (const RankPart& rank : ranks) {
    if (!wanted.contains(rank.rank)) continue;
    for (const Ran& ran : rank.part.Rows<Ran>()) Add(ran.kind, ran.name, ran.count, ran.ns, sums);
  }
  return sums;
}

std::string_view ChangeOf(int64_t count, int64_t base) {
  if (base == 0) return "added";
  if (count == 0) return "deleted";
  if (count == base) return "unchanged";
  return count > base ? "increased" : "decreased";
}

std::vector<TraceDiffRow> Compared(const Sums& own, const Sums& base) {
  std::map<std::pair<std::string_view, std::string_view>, std::pair<Ran, Ran>> both;
  for (const auto& [key, sum] : own) both[key].first = sum;
  for (const auto& [key, sum] : base) both[key].second = sum;
  std::vector<TraceDiffRow> rows;
  for (const auto& [key, sums] : both) {
    const auto& [here, there] = sums;
    rows.push_back({.kind = std::string(key.first),
                    .name = std::string(key.second),
                    .change = std::string(ChangeOf(here.count, there.count)),
                    .count = here.count,
                    .count_base = there.count,
                    .count_diff = here.count - there.count,
                    .total_ns = here.ns,
                    .total_ns_base = there.ns,
                    .total_ns_diff = here.ns - there.ns});
  }
  std::stable_sort(rows.begin(), rows.end(), [](const TraceDiffRow& a, const TraceDiffRow& b) {
    return std::abs(a.total_ns_diff) > std::abs(b.total_ns_diff);
  });
  return rows;
}

std::string Signed(int64_t ns) {
  return base::Concat(ns < 0 ? "-" : "+", Duration(static_cast<double>(std::abs(ns))));
}

void ReportDiff(const std::vector<TraceDiffRow>& rows, Outcome& outcome) {
  for (const std::string_view kind : {kKernel, kOperator}) {
    const auto most = std::find_if(rows.begin(), rows.end(),
                                   [&](const TraceDiffRow& row) { return row.kind == kind; });
    if (most == rows.end()) continue;
    const auto changed = std::count_if(rows.begin(), rows.end(), [&](const TraceDiffRow& row) {
      return row.kind == kind && row.change != "unchanged";
    });
    AddFinding(outcome, kind == kKernel ? "cluster.kernel_diff" : "cluster.operator_diff",
               {most->name, Signed(most->total_ns_diff), std::to_string(most->count),
                std::to_string(most->count_base), std::to_string(changed)},
               kTraceDiff)
        .value = static_cast<double>(most->total_ns_diff);
  }
}

Status ReduceTraceDiff(std::span<const RankPart> ranks, const ModeOptions& options,
                       Outcome& outcome);

constexpr std::array kTraceDiffTables = {&kTraceDiff};
constexpr std::array kTraceDiffOptions = {&kBaseRun};

}  // namespace

extern const Mode kTraceDiffMode;
constexpr Mode kTraceDiffMode = {
    .name = "trace_diff",
    .folder = "TraceDiff",
    .summary = "Counts and times of operators and kernels, compared with a base run (--bp)",
    .tables = kTraceDiffTables,
    .needs =
        recipes::Reads<store::DeviceTaskRow, store::FrameworkOpRow, store::SliceRow>().WithBounds(),
    .wants = kWantsKernels,
    .options = kTraceDiffOptions,
    .check = &CheckBaseRun,
    .map = &MapTraceDiff,
    .reduce = &ReduceTraceDiff};

namespace {

Status ReduceTraceDiff(std::span<const RankPart> ranks, const ModeOptions& options,
                       Outcome& outcome) {
  SONDE_ASSIGN_OR_RETURN(const auto base_ranks,
                         MapFolder(kTraceDiffMode, TextOf(options.values, kBaseRun), {}, options));
  std::set<int32_t> own;
  std::set<int32_t> both;
  for (const RankPart& rank : ranks) own.insert(rank.rank);
  for (const RankPart& rank : base_ranks) {
    if (own.contains(rank.rank)) both.insert(rank.rank);
  }
  const bool is_pair = ranks.size() == 1 && base_ranks.size() == 1;
  if (is_pair) both = {ranks.front().rank, base_ranks.front().rank};
  if (both.empty()) return base::NotFoundError("no rank is in both runs");
  const size_t others = is_pair ? 0 : own.size() + base_ranks.size() - 2 * both.size();
  if (others > 0) {
    outcome.notices.push_back(base::Concat(base::CountOf(others, "rank is", "ranks are"),
                                           " only in one run and left out"));
  }
  const auto rows = Compared(SumsOf(ranks, both), SumsOf(base_ranks, both));
  outcome.tables = {TableOf(kTraceDiff, rows)};
  ReportDiff(rows, outcome);
  return {};
}

}  // namespace

}  // namespace sonde::cluster
