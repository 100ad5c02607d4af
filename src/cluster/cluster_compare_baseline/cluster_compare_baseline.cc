// cluster_compare_baseline: this run compared with a good run (--bp), maybe on fewer ranks.
//
//   parts        of each step of each rank: computing, communication that no kernel covers by the
//                kind of its group (tp, dp, ...), free; steps are paired by their order in the
//                rank, ranks by their number
//   sum          mean of a part over all ranks and steps of a run, so that runs of different size
//                compare; diffPercent: of it to the sum of differences of all parts but the step
//                (0 where that is 0), which is the reference's where both runs have as many steps
//   collectives  mean time without waiting for other ranks, by kind, type and number of elements;
//                theoretical ratio: what growth of the group has to cost (lower_bound.h); longer
//                than that by more than a fifth, and by 10 us: abnormal
// The reference announces the mode and has only helpers for it, whose formulas these are. Where
// begins of other ranks give the waits, clocks of hosts that disagree are found and corrected
// (frame/clocks.h). Tables ClusterCompareBaselineSum, ClusterCompareBaseline,
// ClusterCompareBaselineOps, HostClocks. Units: nanoseconds. Pure but for reading the base run.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "base/count_of.h"
#include "base/strings.h"
#include "cluster/cluster_compare_baseline/lower_bound.h"
#include "cluster/cluster_compare_baseline/parts.h"
#include "cluster/frame/add_finding.h"
#include "cluster/frame/clocks.h"
#include "cluster/frame/facts.h"
#include "cluster/frame/other_run.h"

namespace sonde::cluster {
namespace {

using base::Concat;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

#define SONDE_COLUMNS_BASELINE_SUM(C)                                                    \
  C(part, Text, "part", "", "", KeyOf("part"), "step, computing, a kind of group, free") \
  C(count, Int, "rankSteps", "", "", kNeither, "ranks times steps")                      \
  C(count_base, Int, "rankStepsBase", "", "", kNeither, "in the base run")               \
  C(mean_ns, Double, "MeanNs", "", "ns", kLess, "mean over them")                        \
  C(mean_base_ns, Double, "MeanBaseNs", "", "ns", kLess, "in the base run")              \
  C(diff_ns, Double, "DiffNs", "", "ns", kLess, "the difference")                        \
  C(diff_percent, Double, "diffPercent", "", "%", kLabel, "of the differences of all parts")
SONDE_CLUSTER_TABLE(BaselineSumRow, kBaselineSum, "cluster_compare_baseline_sum",
                    "ClusterCompareBaselineSum", "cluster_compare_baseline_sum",
                    SONDE_COLUMNS_BASELINE_SUM, "parts of a step in two runs, on average")

#define SONDE_COLUMNS_BASELINE(C)                                                        \
  C(rank, Int, "rankId", "", "", KeyOf("rank"), "global rank")                           \
  C(step_id, Int, "stepId", "", "", KeyOf("step"), "its step")                           \
  C(step_base, Int, "stepIdBase", "", "", kLabel, "the matching one of the base run")    \
  C(part, Text, "part", "", "", KeyOf("part"), "step, computing, a kind of group, free") \
  C(ns, Int, "TimeNs", "", "ns", kLess, "its time")                                      \
  C(base_ns, Int, "TimeBaseNs", "", "ns", kLess, "in the base run")                      \
  C(diff_ns, Int, "DiffNs", "", "ns", kLess, "the difference")
SONDE_CLUSTER_TABLE(BaselineRow, kBaseline, "cluster_compare_baseline", "ClusterCompareBaseline",
                    "cluster_compare_baseline", SONDE_COLUMNS_BASELINE,
                    "parts of each step of each rank in two runs")

#define SONDE_COLUMNS_BASELINE_OPS(C)                                                          \
  C(group, Text, "parallelType", "", "", KeyOf("parallel_type"), "kind of the group")          \
  C(kind, Text, "opType", "", "", KeyOf("op_type"), "kind of the operation")                   \
  C(data_type, OptText, "dataType", "", "", kLabel, "of an element")                           \
  C(elements, Opt, "elements", "", "", kLabel, "of an operation")                              \
  C(ranks, Int, "groupSize", "", "", kLabel, "ranks in the group; 0: unknown")                 \
  C(ranks_base, Int, "groupSizeBase", "", "", kLabel, "in the base run")                       \
  C(count, Int, "Count", "", "", kNeither, "operations of all ranks")                          \
  C(mean_ns, Double, "MeanNs", "", "ns", kLess, "mean time without waiting")                   \
  C(mean_base_ns, Double, "MeanBaseNs", "", "ns", kLess, "in the base run")                    \
  C(ratio, Double, "actualRatio", "", "", kLess, "of both")                                    \
  C(least_ratio, Double, "theoreticalRatio", "", "", kLabel, "what growth of the group costs") \
  C(is_abnormal, Int, "isAbnormal", "", "", kLabel, "1: longer than growth explains")
SONDE_CLUSTER_TABLE(BaselineOpRow, kBaselineOps, "cluster_compare_baseline_ops",
                    "ClusterCompareBaselineOps", "cluster_compare_baseline_ops",
                    SONDE_COLUMNS_BASELINE_OPS, "collectives of two runs")

using RanksOfASide = std::span<const RankPart>;

struct PartMean {
  int64_t count = 0;
  double sum = 0;
};

// Each rank and step counts for each part, also where it has none of it.
std::map<std::string, PartMean> MeansOf(RanksOfASide ranks) {
  std::map<std::string, PartMean> means;
  int64_t steps = 0;
  for (const RankPart& rank : ranks) {
    for (const StepPart& part : rank.part.Rows<StepPart>()) {
      means[part.part].sum += static_cast<double>(part.ns);
      steps += part.part == kStepPart;
    }
  }
  for (auto& [name, mean] : means) mean.count = steps;
  return means;
}

// The step first, then its parts.
int OrderOf(std::string_view part) {
  if (part == kStepPart) return 0;
  if (part == kComputingPart) return 1;
  return part == kFreePart ? 3 : 2;
}

std::vector<BaselineSumRow> SumRows(RanksOfASide ranks, RanksOfASide base_ranks) {
  auto own = MeansOf(ranks);
  auto base = MeansOf(base_ranks);
  const int64_t own_count = own[std::string(kStepPart)].count;
  const int64_t base_count = base[std::string(kStepPart)].count;
  for (const auto& [name, mean] : base) own.try_emplace(name);
  std::vector<BaselineSumRow> rows;
  const auto mean = [](double sum, int64_t count) {
    return count > 0 ? sum / static_cast<double>(count) : 0;
  };
  double all = 0;
  for (const auto& [name, part] : own) {
    BaselineSumRow row{.part = name, .count = own_count, .count_base = base_count};
    row.mean_ns = mean(part.sum, own_count);
    row.mean_base_ns = mean(base[name].sum, base_count);
    row.diff_ns = row.mean_ns - row.mean_base_ns;
    if (name != kStepPart) all += row.diff_ns;
    rows.push_back(std::move(row));
  }
  for (BaselineSumRow& row : rows) {
    if (row.part == kStepPart) continue;
    row.diff_percent = all == 0 ? 0 : 100 * row.diff_ns / all;
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return OrderOf(a.part) < OrderOf(b.part); });
  return rows;
}

using PartKey = std::pair<size_t, std::string>;  // place of the step, part

struct Pairs {
  std::vector<BaselineRow> rows;
  std::vector<int32_t> lone;  // ranks of one run alone
  size_t lone_steps = 0;
};

void PairRank(const RankPart& own, const RankPart& base, Pairs& pairs) {
  std::map<PartKey, std::pair<const StepPart*, const StepPart*>> both;
  std::map<size_t, std::pair<const StepPart*, const StepPart*>> steps;
  for (const StepPart& part : own.part.Rows<StepPart>()) {
    both[{part.place, part.part}].first = &part;
    if (part.part == kStepPart) steps[part.place].first = &part;
  }
  for (const StepPart& part : base.part.Rows<StepPart>()) {
    both[{part.place, part.part}].second = &part;
    if (part.part == kStepPart) steps[part.place].second = &part;
  }
  for (const auto& [place, step] : steps) {
    pairs.lone_steps += step.first == nullptr || step.second == nullptr;
  }
  for (const auto& [key, parts] : both) {
    const auto& [step, step_base] = steps[key.first];
    if (step == nullptr || step_base == nullptr) continue;
    const int64_t ns = parts.first == nullptr ? 0 : parts.first->ns;
    const int64_t base_ns = parts.second == nullptr ? 0 : parts.second->ns;
    pairs.rows.push_back({.rank = own.rank,
                          .step_id = step->step,
                          .step_base = step_base->step,
                          .part = key.second,
                          .ns = ns,
                          .base_ns = base_ns,
                          .diff_ns = ns - base_ns});
  }
}

Pairs PairsOf(RanksOfASide ranks, RanksOfASide base_ranks) {
  Pairs pairs;
  std::map<int32_t, const RankPart*> base;
  for (const RankPart& rank : base_ranks) base[rank.rank] = &rank;
  for (const RankPart& rank : ranks) {
    const auto found = base.find(rank.rank);
    if (found == base.end()) {
      pairs.lone.push_back(rank.rank);
      continue;
    }
    PairRank(rank, *found->second, pairs);
    base.erase(found);
  }
  for (const auto& [number, rank] : base) pairs.lone.push_back(number);
  std::sort(pairs.lone.begin(), pairs.lone.end());
  std::stable_sort(pairs.rows.begin(), pairs.rows.end(), [](const auto& a, const auto& b) {
    return std::tuple(a.rank, a.step_id, OrderOf(a.part)) <
           std::tuple(b.rank, b.step_id, OrderOf(b.part));
  });
  return pairs;
}

using BaselineOpKey = std::tuple<std::string, std::string, std::string, int64_t>;

std::map<BaselineOpKey, CollectiveSum> CollectivesOf(RanksOfASide ranks) {
  std::map<BaselineOpKey, CollectiveSum> sums;
  for (const RankPart& rank : ranks) {
    for (const CollectiveSum& one : rank.part.Rows<CollectiveSum>()) {
      const auto [found, is_new] =
          sums.try_emplace({one.group, one.kind, one.data_type, one.elements}, one);
      if (is_new) continue;
      found->second.count += one.count;
      found->second.ns += one.ns;
      found->second.ranks = std::max(found->second.ranks, one.ranks);
    }
  }
  return sums;
}

BaselineOpRow OpRowOf(const CollectiveSum& own, const CollectiveSum& base) {
  constexpr double kTolerance = 1.2;
  constexpr double kLeastNs = 10e3;
  BaselineOpRow row{.group = own.group,
                    .kind = own.kind,
                    .data_type = own.data_type,
                    .elements = own.elements,
                    .ranks = own.ranks,
                    .ranks_base = base.ranks,
                    .count = own.count};
  row.mean_ns = static_cast<double>(own.ns) / static_cast<double>(own.count);
  row.mean_base_ns = static_cast<double>(base.ns) / static_cast<double>(base.count);
  row.ratio = row.mean_base_ns > 0 ? row.mean_ns / row.mean_base_ns : kNaN;
  row.least_ratio =
      LeastRatio({own.kind, own.data_type, own.elements}, row.mean_base_ns, own.ranks, base.ranks);
  const double expected_ns = row.least_ratio * row.mean_base_ns;
  row.is_abnormal =
      row.mean_ns > kTolerance * expected_ns && row.mean_ns - expected_ns >= kLeastNs ? 1 : 0;
  return row;
}

// Those of both runs, the longest excess first.
std::vector<BaselineOpRow> OpRows(RanksOfASide ranks, RanksOfASide base_ranks) {
  const auto base = CollectivesOf(base_ranks);
  std::vector<BaselineOpRow> rows;
  for (const auto& [key, own] : CollectivesOf(ranks)) {
    const auto found = base.find(key);
    if (found != base.end()) rows.push_back(OpRowOf(own, found->second));
  }
  const auto excess = [](const BaselineOpRow& row) {
    return (row.mean_ns - row.least_ratio * row.mean_base_ns) * static_cast<double>(row.count);
  };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const auto& a, const auto& b) { return excess(a) > excess(b); });
  return rows;
}

std::string SignedPercent(double part, double all) {
  return Concat(part < 0 ? "" : "+", Percent(part, all));
}

std::string SignedDuration(double ns) { return Concat(ns < 0 ? "-" : "+", Duration(std::abs(ns))); }

// Less than a hundredth of the step needs no cause.
void ReportParts(const std::vector<BaselineSumRow>& rows, Outcome& outcome) {
  const BaselineSumRow& step = rows.front();
  const auto most = std::max_element(
      rows.begin() + 1, rows.end(),
      [](const auto& a, const auto& b) { return std::abs(a.diff_ns) < std::abs(b.diff_ns); });
  if (most == rows.end() || std::abs(most->diff_ns) < 0.01 * step.mean_base_ns) {
    AddFinding(outcome, "cluster.baseline_same",
               {Duration(step.mean_ns), Duration(step.mean_base_ns)}, kBaselineSum)
        .value = step.diff_ns;
    return;
  }
  AddFinding(outcome, "cluster.baseline",
             {Duration(step.mean_ns), Duration(step.mean_base_ns),
              SignedPercent(step.diff_ns, step.mean_base_ns), most->part, Duration(most->mean_ns),
              Duration(most->mean_base_ns)},
             kBaselineSum)
      .value = step.diff_ns;
}

// The rank and part that changed most, where that is more than the change of all ranks.
void ReportRank(const std::vector<BaselineRow>& rows, const std::vector<BaselineSumRow>& sums,
                Outcome& outcome) {
  std::map<std::string_view, double> means;
  for (const BaselineSumRow& row : sums) means[row.part] = row.diff_ns;
  const auto beyond = [&](const BaselineRow& row) {
    return row.part == kStepPart ? 0 : std::abs(static_cast<double>(row.diff_ns) - means[row.part]);
  };
  const auto most = std::max_element(rows.begin(), rows.end(), [&](const auto& a, const auto& b) {
    return beyond(a) < beyond(b);
  });
  if (most == rows.end() || beyond(*most) < 0.02 * sums.front().mean_base_ns) return;
  recipes::Finding& finding = AddFinding(
      outcome, "cluster.baseline_rank",
      {std::to_string(most->rank), std::to_string(most->step_id), most->part,
       SignedDuration(static_cast<double>(most->diff_ns)), SignedDuration(means[most->part])},
      kBaseline);
  finding.rank = static_cast<int32_t>(most->rank);
  finding.step = most->step_id;
}

void ReportOps(const std::vector<BaselineOpRow>& rows, Outcome& outcome) {
  const auto most = std::find_if(rows.begin(), rows.end(),
                                 [](const BaselineOpRow& row) { return row.is_abnormal != 0; });
  if (most == rows.end()) return;
  AddFinding(outcome, "cluster.baseline_op",
             {most->kind, most->group, std::to_string(most->elements), Duration(most->mean_ns),
              Duration(most->mean_base_ns), std::to_string(most->ranks),
              std::to_string(most->ranks_base), Fixed(most->least_ratio, 2)},
             kBaselineOps)
      .value = most->ratio;
}

Status ReduceClusterCompareBaseline(RanksOfASide ranks, const ModeOptions& options,
                                    Outcome& outcome);

constexpr std::array kClusterCompareBaselineTables = {&kBaselineSum, &kBaseline, &kBaselineOps,
                                                      &kHostClocks};
constexpr std::array kClusterCompareBaselineOptions = {&kBaseRun, &kKeepClocks};

}  // namespace

extern const Mode kClusterCompareBaselineMode;
constexpr Mode kClusterCompareBaselineMode = {
    .name = "cluster_compare_baseline",
    .folder = "ClusterCompareBaseline",
    .summary = "Parts of steps and collectives compared with a good run (--bp)",
    .tables = kClusterCompareBaselineTables,
    .needs = recipes::Reads<store::DeviceTaskRow, store::CommunicationOpRow,
                            store::CommunicationGroupRow, store::StepRow>()
                 .WithBounds()
                 .WithWaits(),
    .wants = kWantsKernels,
    .options = kClusterCompareBaselineOptions,
    .check = &CheckBaseRun,
    .map = &MapParts,
    .reduce = &ReduceClusterCompareBaseline};

namespace {

void ReportBaseClocks(RanksOfASide base_ranks, const ModeOptions& options, Outcome& outcome) {
  Outcome base;
  FindClocks(base_ranks, options, base);
  for (const std::string& notice : base.notices) {
    outcome.notices.push_back(Concat("of the base run ", notice));
  }
}

Status ReduceClusterCompareBaseline(RanksOfASide ranks, const ModeOptions& options,
                                    Outcome& outcome) {
  SONDE_ASSIGN_OR_RETURN(auto base_ranks, MapFolder(kClusterCompareBaselineMode,
                                                    TextOf(options.values, kBaseRun), {}, options));
  std::erase_if(base_ranks, [](const RankPart& part) { return part.part.empty(); });
  if (base_ranks.empty()) {
    return base::NotFoundError(Concat("'", TextOf(options.values, kBaseRun),
                                      "' has no rank with what is compared: ", kWantsKernels));
  }
  const Clocks clocks = FindClocks(ranks, options, outcome);
  ReportBaseClocks(base_ranks, options, outcome);
  const auto sums = SumRows(ranks, base_ranks);
  const Pairs pairs = PairsOf(ranks, base_ranks);
  const auto ops = OpRows(ranks, base_ranks);
  if (!pairs.lone.empty()) {
    outcome.notices.push_back(
        pairs.lone.size() == 1
            ? Concat("rank ", Listed(pairs.lone), " is only in one run: it counts only in means")
            : Concat("ranks ", Listed(pairs.lone),
                     " are only in one run: they count only in means"));
  }
  if (pairs.lone_steps > 0) {
    outcome.notices.push_back(Concat(base::CountOf(pairs.lone_steps, "step has", "steps have"),
                                     " no counterpart in the other run, only in means"));
  }
  outcome.tables = {TableOf(kBaselineSum, sums), TableOf(kBaseline, pairs.rows),
                    TableOf(kBaselineOps, ops)};
  if (!clocks.rows.empty()) outcome.tables.push_back(TableOf(kHostClocks, clocks.rows));
  ReportParts(sums, outcome);
  ReportRank(pairs.rows, sums, outcome);
  ReportOps(ops, outcome);
  return {};
}

}  // namespace

}  // namespace sonde::cluster
