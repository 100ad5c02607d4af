// module_statistic: operators and kernels of each module of the model, in the order of the calls.
//
//   modules    modules/module_tree.h, those of backward among them
//   phases     modules/phases.h: of a server's steps "prefill", "decode" or "mixed" is the
//   outermost
//              parent
//   rows       modules/merged_calls.h: total and mean duration of the kernels, number of calls
// Of each rank by itself. Table ModuleStatistic; in text a workbook for each rank. --step_id has no
// effect, as in the reference. Units: nanoseconds. Pure, any thread.
#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/strings.h"
#include "cluster/frame/add_finding.h"
#include "cluster/frame/facts.h"
#include "cluster/modules/merged_calls.h"
#include "cluster/modules/phases.h"

namespace sonde::cluster {
namespace {

using base::Concat;

#define SONDE_COLUMNS_MODULE(C)                                                                  \
  C(parent, Text, "parentModule", "Parent Module", "", KeyOf("module_parent"), "modules around") \
  C(module, Text, "module", "Module", "", KeyOf("module"), "class of the module")                \
  C(op, Text, "opName", "Op Name", "", KeyOf("op"), "operator")                                  \
  C(kernels, Text, "kernelList", "Kernel List", "", KeyOf("kernels"), "what it launches")        \
  C(total_ns, Double, "totalKernelDuration(ns)", "Total Kernel Duration(ns)", "ns", kLess,       \
    "duration of the kernels of all calls")                                                      \
  C(mean_ns, Double, "avgKernelDuration(ns)", "Avg Kernel Duration(ns)", "ns", kLess,            \
    "of one call")                                                                               \
  C(count, Int, "opCount", "Op Count", "", kNeither, "calls")                                    \
  C(rank, Int, "rankID", "Rank ID", "", KeyOf("rank"), "global rank")
SONDE_CLUSTER_TABLE(ModuleRow, kModules, "module_statistic", "ModuleStatistic", "module_statistic",
                    SONDE_COLUMNS_MODULE, "operators and kernels of modules")

constexpr std::array kWidths = {40.0, 40.0, 40.0, 50.0, 10.0, 10.0, 10.0};
constexpr std::array<size_t, 2> kMergedModules = {0, 1};
constexpr std::array kModuleStatisticBooks = {BookInfo{.table = &kModules,
                                                       .file = "module_statistic_{rank}",
                                                       .rank_column = 7,
                                                       .shows_rank = false,
                                                       .widths = kWidths,
                                                       .merged = kMergedModules,
                                                       .is_header_high = true}};

// Kernels of the rank, and those of them in a module.
struct Covered {
  double all_ns = 0;
  double in_modules_ns = 0;
};

Status MapModuleStatistic(const RankInput& rank, Part& part) {
  const recipes::TraceData& data = rank.data();
  std::vector<ModuleRange> modules = ModulesOf(data);
  if (modules.empty()) return {};
  const std::vector<LaunchingOp> ops = LaunchingOpsOf(rank.view);
  std::vector<ModuleRange> backward = BackwardModules(data, modules);
  modules.insert(modules.end(), std::move_iterator(backward.begin()),
                 std::move_iterator(backward.end()));
  Covered covered;
  for (const LaunchingOp& op : ops) {
    for (const LaunchedKernel& kernel : op.kernels) {
      covered.all_ns += static_cast<double>(kernel.end - kernel.begin);
    }
  }
  std::vector<PlacedOp> placed = PlaceOps(modules, ops);
  AssignPhases(PhasesOf(data), ops, placed);
  for (MergedCalls& row : MergeCalls(placed, ops)) {
    covered.in_modules_ns += row.total_ns;
    part.Rows<ModuleRow>().push_back({.parent = std::move(row.parent),
                                      .module = std::move(row.module),
                                      .op = std::move(row.op),
                                      .kernels = std::move(row.kernels),
                                      .total_ns = row.total_ns,
                                      .mean_ns = row.total_ns / static_cast<double>(row.count),
                                      .count = row.count,
                                      .rank = rank.rank});
  }
  if (!part.Rows<ModuleRow>().empty()) part.Rows<Covered>().push_back(covered);
  return {};
}

// The module with the most device time, and the rank that spends most in it.
void ReportModules(const std::vector<ModuleRow>& rows, const Covered& covered, Outcome& outcome) {
  std::map<std::string, std::map<int64_t, double>> by_module;  // by path, rank
  for (const ModuleRow& row : rows) {
    by_module[Concat(row.parent, row.parent.empty() ? "" : "/", row.module)][row.rank] +=
        row.total_ns;
  }
  const auto sum = [](const std::map<int64_t, double>& ranks) {
    double all = 0;
    for (const auto& [rank, ns] : ranks) all += ns;
    return all;
  };
  const auto most =
      std::max_element(by_module.begin(), by_module.end(),
                       [&](const auto& a, const auto& b) { return sum(a.second) < sum(b.second); });
  AddFinding(outcome, "cluster.module_time",
             {most->first, Percent(sum(most->second), covered.in_modules_ns),
              Percent(covered.in_modules_ns, covered.all_ns)},
             kModules);
  if (most->second.size() < 2) return;
  const auto [least, longest] =
      std::minmax_element(most->second.begin(), most->second.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; });
  recipes::Finding& finding = AddFinding(outcome, "cluster.module_ranks",
                                         {std::to_string(longest->first), Duration(longest->second),
                                          std::to_string(least->first), Duration(least->second)},
                                         kModules);
  finding.rank = longest->first;
}

Status ReduceModuleStatistic(std::span<const RankPart> ranks, const ModeOptions& /*options*/,
                             Outcome& outcome) {
  std::vector<ModuleRow> rows;
  Covered covered;
  for (const RankPart& rank : ranks) {
    const auto& own = rank.part.Rows<ModuleRow>();
    rows.insert(rows.end(), own.begin(), own.end());
    for (const Covered& one : rank.part.Rows<Covered>()) {
      covered.all_ns += one.all_ns;
      covered.in_modules_ns += one.in_modules_ns;
    }
  }
  outcome.tables = {TableOf(kModules, rows)};
  ReportModules(rows, covered, outcome);
  return {};
}

constexpr std::array kModuleStatisticTables = {&kModules};

}  // namespace

extern const Mode kModuleStatisticMode;
constexpr Mode kModuleStatisticMode = {
    .name = "module_statistic",
    .folder = "ModuleStatistic",
    .summary = "Operators and kernels of each module of the model, including backward",
    .tables = kModuleStatisticTables,
    .needs = ModuleNeeds() | recipes::Reads<store::StepRow, store::CounterRow>(),
    .wants = "kernels and modules (--profile-with-modules; mstx ranges of the domain Module)",
    .books = kModuleStatisticBooks,
    .takes_all_steps = true,
    .map = &MapModuleStatistic,
    .reduce = &ReduceModuleStatistic};

}  // namespace sonde::cluster
