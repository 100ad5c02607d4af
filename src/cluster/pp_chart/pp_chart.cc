// pp_chart: when each rank of a pipeline works on which part.
//
//   parts     tasks of the device that have the text of a mark with "forward", "backward" or
//             "WeightGradStore_pop"; of a trace without such tasks the ranges of the host
//   name      FP (type 0) of forward, else BP (1)
//   DualPipeV of a trace whose metadata has it (pp_info, with the number of micro batches, and
//             distributed_args): parts that overlap an earlier one are left out, and those of a
//             step get names and types of the schedule (schedule.h) by their order; a step of
//             another number of parts keeps empty names, with a notice
// Clocks of hosts that disagree are found and corrected (frame/clocks.h). Tables StepTaskInfo with
// the rank beside, which the reference writes into the traces, and HostClocks. With --step_id parts
// count that begin in the step. Units: nanoseconds. Pure, any thread.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/count_of.h"
#include "base/host/json.h"
#include "base/strings.h"
#include "cluster/frame/add_finding.h"
#include "cluster/frame/clocks.h"
#include "cluster/pp_chart/schedule.h"
#include "recipes/intervals.h"

namespace sonde::cluster {
namespace {

using base::Concat;
using recipes::TraceData;

#define SONDE_COLUMNS_STEP_TASK(C)                                      \
  C(rank, Int, "rankId", "", "", KeyOf("rank"), "global rank")          \
  C(name, Text, "name", "", "", kLabel, "FP, BP, or from the schedule") \
  C(begin_ns, Int, "startNs", "", "ns", kLabel, "begin")                \
  C(end_ns, Int, "endNs", "", "ns", kLabel, "end")                      \
  C(type, Int, "type", "", "", kLabel, "0 forward, 1 backward, or the part of the schedule")
SONDE_CLUSTER_TABLE(StepTaskRow, kStepTasks, "step_task_info", "StepTaskInfo", "step_task_info",
                    SONDE_COLUMNS_STEP_TASK, "parts of the pipeline by rank")

struct PipelinePart {
  std::string_view text;
  int64_t begin = 0;
  int64_t end = 0;
  int64_t step = -1;
};
struct OddStep {
  std::string text;
};

bool IsPart(std::string_view text) {
  const std::string lower = base::ToLower(text);
  return lower.find("forward") != std::string::npos ||
         lower.find("backward") != std::string::npos ||
         lower.find("weightgradstore_pop") != std::string::npos;
}

// The last step of the host that began before.
int64_t StepAt(const TraceData& data, int64_t ts) {
  int64_t step_id = -1;
  for (const store::StepRow& step : data.steps) {
    if (step.ts <= ts) step_id = step.step_id;
  }
  return step_id;
}

std::vector<PipelinePart> PartsOf(const RankInput& rank) {
  const TraceData& data = rank.data();
  std::vector<PipelinePart> parts;
  for (const store::DeviceTaskRow& task : data.tasks) {
    const store::TaskKindRow& kind = data.kinds[static_cast<size_t>(task.kind_id)];
    const bool is_mark = kind.core == store::kNone && kind.name != kind.task_type;
    if (!is_mark || !rank.window.Has(task.ts) || !IsPart(data.Name(kind.name))) continue;
    parts.push_back({.text = data.Name(kind.name),
                     .begin = task.ts,
                     .end = task.ts + std::max<int64_t>(task.dur, 0),
                     .step = StepAt(data, task.ts)});
  }
  if (!parts.empty()) return parts;
  for (const store::MarkRow& mark : data.marks) {
    const std::string_view text = data.Name(mark.message);
    if (mark.dur <= 0 || !rank.window.Has(mark.ts) || !IsPart(text)) continue;
    parts.push_back(
        {.text = text, .begin = mark.ts, .end = mark.ts + mark.dur, .step = StepAt(data, mark.ts)});
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto& a, const auto& b) { return a.begin < b.begin; });
  return parts;
}

// The schedule of the rank's stage; none where the trace has no schedule of a known kind.
std::optional<std::vector<ScheduledPart>> ScheduleOf(const RankInput& rank) {
  const auto& metadata = rank.data().metadata;
  const auto pipeline = metadata.find("pp_info");
  const auto sizes = metadata.find("distributed_args");
  if (pipeline == metadata.end() || sizes == metadata.end()) return std::nullopt;
  const auto info = base::JsonDocument::Parse(pipeline->second, "pp_info");
  const auto args = base::JsonDocument::Parse(sizes->second, "distributed_args");
  if (!info.ok() || !args.ok()) return std::nullopt;
  const std::string type = info->root().GetString("pp_type", "").value_or("");
  if (base::ToLower(type) != "dualpipev") return std::nullopt;
  const auto size = [&](std::string_view name) {
    return std::max<int64_t>(args->root().GetInt(name, 1).value_or(1), 1);
  };
  const int64_t of_stage = size("tensor_model_parallel_size") * size("data_parallel_size");
  return DualPipeV(size("pipeline_model_parallel_size"),
                   info->root().GetInt("microbatch_num", 0).value_or(0), rank.rank / of_stage);
}

// Parts that begin before the end of the last one go.
void LeaveOverlapping(std::vector<PipelinePart>& parts) {
  int64_t last_end = -1;
  std::erase_if(parts, [&](const PipelinePart& part) {
    if (part.begin < last_end) return true;
    last_end = part.end;
    return false;
  });
}

void NameBySchedule(const RankInput& rank, const std::vector<ScheduledPart>& schedule,
                    std::vector<PipelinePart> parts, Part& out) {
  LeaveOverlapping(parts);
  std::map<int64_t, std::vector<PipelinePart>> steps;
  for (const PipelinePart& part : parts) steps[part.step].push_back(part);
  for (const auto& [step, list] : steps) {
    const bool fits = list.size() == schedule.size();
    if (!fits) {
      out.Rows<OddStep>().push_back(
          {Concat("rank ", std::to_string(rank.rank), ", step ", std::to_string(step), ": ",
                  base::CountOf(list.size(), "part"), " of the pipeline, and the schedule has ",
                  std::to_string(schedule.size()), ": they have no names")});
    }
    for (size_t i = 0; i < list.size(); ++i) {
      out.Rows<StepTaskRow>().push_back({.rank = rank.rank,
                                         .name = fits ? schedule[i].name : "",
                                         .begin_ns = list[i].begin,
                                         .end_ns = list[i].end,
                                         .type = fits ? schedule[i].type : 0});
    }
  }
}

Status MapPpChart(const RankInput& rank, Part& part) {
  std::vector<PipelinePart> parts = PartsOf(rank);
  if (parts.empty()) return {};
  MapCollectives(rank, part);
  if (const auto schedule = ScheduleOf(rank)) {
    NameBySchedule(rank, *schedule, std::move(parts), part);
    return {};
  }
  for (const PipelinePart& one : parts) {
    const bool is_forward = base::ToLower(one.text).find("forward") != std::string::npos;
    part.Rows<StepTaskRow>().push_back({.rank = rank.rank,
                                        .name = is_forward ? "FP" : "BP",
                                        .begin_ns = one.begin,
                                        .end_ns = one.end,
                                        .type = is_forward ? 0 : 1});
  }
  return {};
}

// The share of the pipeline's time, from its first part on any rank to its last, without a part.
void ReportBubbles(const std::vector<StepTaskRow>& rows, Outcome& outcome) {
  int64_t first = INT64_MAX;
  int64_t last = INT64_MIN;
  std::map<int64_t, std::vector<recipes::Interval>> parts;
  for (const StepTaskRow& row : rows) {
    parts[row.rank].push_back({row.begin_ns, row.end_ns});
    first = std::min(first, row.begin_ns);
    last = std::max(last, row.end_ns);
  }
  std::map<int32_t, int64_t> busy;
  for (auto& [rank, list] : parts) {
    busy[static_cast<int32_t>(rank)] = recipes::TotalNs(recipes::Merge(std::move(list)));
  }
  if (last <= first) return;
  const auto by_time = [](const auto& a, const auto& b) { return a.second < b.second; };
  const auto [least, most] = std::minmax_element(busy.begin(), busy.end(), by_time);
  const auto all = static_cast<double>(last - first);
  const auto idle = [&](int64_t ns) { return Percent(all - static_cast<double>(ns), all); };
  recipes::Finding& finding =
      AddFinding(outcome, "cluster.bubbles",
                 {Duration(all), std::to_string(least->first), idle(least->second),
                  std::to_string(most->first), idle(most->second)},
                 kStepTasks);
  finding.rank = least->first;
}

Status ReducePpChart(std::span<const RankPart> ranks, const ModeOptions& options,
                     Outcome& outcome) {
  const Clocks clocks = FindClocks(ranks, options, outcome);
  std::vector<StepTaskRow> rows;
  for (const RankPart& rank : ranks) {
    const int64_t ahead_ns = clocks.Of(rank.rank);
    for (StepTaskRow row : rank.part.Rows<StepTaskRow>()) {
      row.begin_ns -= ahead_ns;
      row.end_ns -= ahead_ns;
      rows.push_back(std::move(row));
    }
    for (const OddStep& odd : rank.part.Rows<OddStep>()) outcome.notices.push_back(odd.text);
  }
  outcome.tables = {TableOf(kStepTasks, rows)};
  if (!clocks.rows.empty()) outcome.tables.push_back(TableOf(kHostClocks, clocks.rows));
  ReportBubbles(rows, outcome);
  return {};
}

constexpr std::array kPpChartTables = {&kStepTasks, &kHostClocks};
constexpr std::array kPpChartOptions = {&kKeepClocks};

}  // namespace

extern const Mode kPpChartMode;
constexpr Mode kPpChartMode = {
    .name = "pp_chart",
    .folder = "PPChart",
    .summary = "Which part of the pipeline each rank runs, and when",
    .tables = kPpChartTables,
    .needs = recipes::Reads<store::DeviceTaskRow, store::MarkRow, store::StepRow,
                            store::CommunicationOpRow>(),
    .wants =
        "ranges with 'forward' or 'backward' in their text (sonde.mstx around the steps of the "
        "pipeline, --profile-mstx)",
    .options = kPpChartOptions,
    .map = &MapPpChart,
    .reduce = &ReducePpChart};

}  // namespace sonde::cluster
