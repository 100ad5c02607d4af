// computational_op_masking: how much of the communication of each kind of parallelism computing
// hides.
//
// Of each rank, step and entry of --parallel_types (names of groups, joined with '+'), all
// operations and kernels that overlap the step, kept whole:
//   totalCommunicationOperatorTime         length of the union of the operations
//   totalTimeWithoutCommunicationBlackout  of it, what no kernel covers
//   ratios                                 of both to the step's length, the second rounded to 5
//                                          decimals
// With --step_id operations and kernels count that lie in the step. A kind that a rank has no
// operation of has no row. Table ComputationalOperatorMaskingLinearity; the column of the rank is
// ours. Units: nanoseconds. Pure, any thread.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/strings.h"
#include "cluster/frame/add_finding.h"
#include "cluster/frame/facts.h"
#include "cluster/frame/statistics.h"
#include "recipes/intervals.h"

namespace sonde::cluster {
namespace {

using TypeGroups = std::vector<std::vector<std::string>>;

// "tp;dp,edp" is tp, and dp and edp together; none where a name is empty.
std::optional<TypeGroups> ParseGroups(std::string_view text) {
  TypeGroups groups;
  for (const std::string_view group : base::Split(text, ';')) {
    std::vector<std::string>& names = groups.emplace_back();
    for (const std::string_view name : base::Split(group, ',')) {
      names.emplace_back(base::Trim(name));
      if (names.back().empty()) return std::nullopt;
    }
  }
  return groups;
}

Status CheckGroups(std::string_view value) {
  if (ParseGroups(value)) return {};
  return base::InvalidArgumentError(base::Concat(
      "must be names of groups like 'tp;dp,edp', none of them empty, not '", value, "'"));
}

constexpr ModeOption kParallelTypes = {
    .name = "--parallel_types",
    .help = "Kinds of groups, ';' between, ',' between those that count together",
    .usual = "dp,edp;edp;dp;ep;pp;mp;tp",
    .check = &CheckGroups};

using recipes::Interval;

#define SONDE_COLUMNS_MASKING(C)                                                                  \
  C(rank, Int, "rankId", "", "", KeyOf("rank"), "global rank")                                    \
  C(step_id, Int, "stepId", "", "", KeyOf("step"), "its step")                                    \
  C(type, Text, "parallelType", "", "", KeyOf("parallel_type"), "names of groups, '+' between")   \
  C(begin_ns, Int, "stepStartTime", "", "ns", kLabel, "begin of the step")                        \
  C(end_ns, Int, "stepEndTime", "", "ns", kLabel, "its end")                                      \
  C(communicating_ns, Int, "totalCommunicationOperatorTime", "", "ns", kLess, "communicating")    \
  C(ratio, Double, "timeRatioOfStepCommunicationOperator", "", "", kLess, "of it to the step")    \
  C(alone_ns, Int, "totalTimeWithoutCommunicationBlackout", "", "ns", kLess, "without computing") \
  C(alone_ratio, Double, "ratioOfUnmaskedCommunication", "", "", kLess, "of that to the step")
SONDE_CLUSTER_TABLE(MaskingRow, kMasking, "computational_operator_masking_linearity",
                    "ComputationalOperatorMaskingLinearity",
                    "computational_operator_masking_linearity", SONDE_COLUMNS_MASKING,
                    "communication that computing hides")

// A kind of group that the rank communicates in.
struct KnownType {
  std::string name;
};

using IntervalsByType = std::map<std::string, std::vector<Interval>, std::less<>>;

IntervalsByType OperationsByType(const RankInput& rank) {
  const recipes::TraceData& data = rank.data();
  std::map<uint64_t, std::string_view> types;
  for (const recipes::CommunicationGroup& group : data.groups) {
    if (group.description != store::kNone) {
      types.try_emplace(group.hash, data.Name(group.description));
    }
  }
  IntervalsByType operations;
  for (size_t i = 0; i < data.communications.size(); ++i) {
    const store::CommunicationOpRow& op = data.communications[i];
    const auto type = types.find(static_cast<uint64_t>(op.group_hash));
    const int64_t end = rank.view.EndNs(op);
    if (type == types.end() || !rank.window.Has(op.ts) || !rank.window.Has(end)) continue;
    operations[std::string(type->second)].push_back({op.ts, end});
  }
  return operations;
}

std::vector<Interval> Kernels(const RankInput& rank) {
  const recipes::TraceData& data = rank.data();
  std::vector<Interval> kernels;
  for (const store::DeviceTaskRow& task : data.tasks) {
    const int64_t end = task.ts + std::max<int64_t>(task.dur, 0);
    const bool is_wanted = IsComputing(data, data.kinds[static_cast<size_t>(task.kind_id)]);
    if (is_wanted && rank.window.Has(task.ts) && rank.window.Has(end)) {
      kernels.push_back({task.ts, end});
    }
  }
  return recipes::Merge(std::move(kernels));
}

// Those that overlap the step, whole; in any order.
std::vector<Interval> In(const std::vector<Interval>& all, const Interval& step) {
  std::vector<Interval> found;
  for (const Interval& one : all) {
    if (one.end_ns > step.start_ns && one.start_ns < step.end_ns) found.push_back(one);
  }
  return found;
}

Status MapComputationalOpMasking(const RankInput& rank, Part& part) {
  const recipes::TraceData& data = rank.data();
  const IntervalsByType operations = OperationsByType(rank);
  const std::vector<Interval> kernels = Kernels(rank);
  if (kernels.empty() || data.steps.empty()) return {};
  for (const auto& [type, list] : operations) part.Rows<KnownType>().push_back({type});
  const auto groups = ParseGroups(TextOf(rank.options.values, kParallelTypes));
  for (const std::vector<std::string>& types : *groups) {
    std::vector<Interval> wanted;
    for (const std::string& type : std::set<std::string>(types.begin(), types.end())) {
      const auto found = operations.find(type);
      if (found == operations.end()) continue;
      wanted.insert(wanted.end(), found->second.begin(), found->second.end());
    }
    if (wanted.empty()) continue;
    for (const store::StepRow& step : data.steps) {
      const int64_t end = step.dur < 0 ? data.last_ns : step.ts + step.dur;
      const bool is_wanted = rank.options.step_id < 0 || rank.options.step_id == step.step_id;
      if (!is_wanted || end <= step.ts) continue;
      const auto merged = recipes::Merge(In(wanted, {step.ts, end}));
      const auto length = static_cast<double>(end - step.ts);
      const int64_t alone = recipes::TotalNs(recipes::Subtract(merged, kernels));
      const int64_t all = recipes::TotalNs(merged);
      part.Rows<MaskingRow>().push_back(
          {.rank = rank.rank,
           .step_id = step.step_id,
           .type = base::Join(types, "+"),
           .begin_ns = step.ts,
           .end_ns = end,
           .communicating_ns = all,
           .ratio = static_cast<double>(all) / length,
           .alone_ns = alone,
           .alone_ratio = Round(static_cast<double>(alone) / length, 5)});
    }
  }
  return {};
}

// Of each kind the step that it holds up most.
void ReportMasking(const std::vector<MaskingRow>& rows, const std::set<std::string>& known,
                   Outcome& outcome) {
  if (rows.empty()) {
    const std::vector<std::string> names(known.begin(), known.end());
    AddFinding(outcome, "cluster.no_parallel_type", {base::Join(names, ", ")}, kMasking);
    return;
  }
  std::map<std::string, const MaskingRow*> worst;
  for (const MaskingRow& row : rows) {
    const MaskingRow*& found = worst[row.type];
    if (found == nullptr || row.alone_ratio > found->alone_ratio) found = &row;
  }
  for (const auto& [type, row] : worst) {
    recipes::Finding& finding =
        AddFinding(outcome, "cluster.least_hidden",
                   {type, std::to_string(row->rank), std::to_string(row->step_id),
                    Duration(static_cast<double>(row->alone_ns)), Percent(row->alone_ratio, 1),
                    Percent(static_cast<double>(row->communicating_ns - row->alone_ns),
                            static_cast<double>(row->communicating_ns))},
                   kMasking);
    finding.rank = row->rank;
    finding.step = row->step_id;
    finding.value = row->alone_ratio;
  }
}

Status ReduceComputationalOpMasking(std::span<const RankPart> ranks, const ModeOptions& /*options*/,
                                    Outcome& outcome) {
  std::vector<MaskingRow> rows;
  std::set<std::string> known;
  for (const RankPart& rank : ranks) {
    const auto& own = rank.part.Rows<MaskingRow>();
    rows.insert(rows.end(), own.begin(), own.end());
    for (const KnownType& type : rank.part.Rows<KnownType>()) known.insert(type.name);
  }
  outcome.tables = {TableOf(kMasking, rows)};
  ReportMasking(rows, known, outcome);
  return {};
}

constexpr std::array kComputationalOpMaskingTables = {&kMasking};
constexpr std::array kComputationalOpMaskingOptions = {&kParallelTypes};

}  // namespace

extern const Mode kComputationalOpMaskingMode;
constexpr Mode kComputationalOpMaskingMode = {
    .name = "computational_op_masking",
    .folder = "ComputationalOpMasking",
    .summary = "How much of the communication of each kind of parallelism computing hides",
    .tables = kComputationalOpMaskingTables,
    .needs = recipes::Reads<store::DeviceTaskRow, store::CommunicationOpRow,
                            store::CommunicationGroupRow, store::StepRow>()
                 .WithBounds(),
    .wants =
        "steps, kernels, and communication in groups whose kind is known (recorded with the "
        "device, profiler.step() in the program)",
    .options = kComputationalOpMaskingOptions,
    .map = &MapComputationalOpMasking,
    .reduce = &ReduceComputationalOpMasking};

}  // namespace sonde::cluster
