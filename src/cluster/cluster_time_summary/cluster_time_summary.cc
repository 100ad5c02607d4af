#include "cluster/cluster_time_summary/cluster_time_summary.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "base/strings.h"
#include "cluster/delivered/delivered.h"
#include "cluster/frame/add_finding.h"
#include "cluster/frame/facts.h"
#include "recipes/launch/host_calls.h"
#include "recipes/step_trace/rank_device.h"

namespace sonde::cluster {
namespace {

constexpr int64_t kNoStep = -1;

struct StepPart {
  int64_t step_id = kNoStep;
  double step_us = -1;  // -1: unknown
  bool is_delivered = false;
  std::array<double, kStepColumns> us{};
  bool is_computed = false;  // and not delivered by the profiler
  double memory_ns = 0;
  double memory_alone_ns = 0;
  double memory_inside_ns = 0;  // of it: between the first and the last kernel or communication
};
struct OpPart {
  std::string group;
  std::string name;
  int64_t step_id = kNoStep;
  double dur_ns = 0;
};

// The step that holds a moment, ends included; of a trace without steps all are one.
std::optional<int64_t> StepAt(const recipes::TraceData& data, int64_t ts) {
  if (data.steps.empty()) return kNoStep;
  for (const store::StepRow& step : data.steps) {
    const int64_t end = step.dur < 0 ? data.last_ns : step.ts + step.dur;
    if (ts >= step.ts && ts <= end) return step.step_id;
  }
  return std::nullopt;
}

enum class PartKind : uint8_t { kCompute, kCommunicate, kCopy, kNone };
struct Block {
  int64_t begin = 0;
  int64_t end = 0;
  PartKind kind = PartKind::kNone;
};

// Time of copies that no other block covers; blocks in the order of begin and end.
double CopyAloneNs(const std::vector<Block>& blocks) {
  if (blocks.empty()) return 0;
  Block open{blocks.front().begin, blocks.front().begin, PartKind::kNone};
  int64_t alone = 0;
  for (const Block& block : blocks) {
    if (open.kind == PartKind::kCopy) {
      alone += std::max<int64_t>(0, std::min(open.end, block.begin) - open.begin);
    }
    if (block.begin > open.end) {
      open = block;
    } else if (block.end > open.end) {
      open = {open.end, block.end, block.kind};
    } else {
      open.begin = block.end;
    }
  }
  if (open.kind == PartKind::kCopy) alone += open.end - open.begin;
  return static_cast<double>(alone);
}

// Without the copies before the first and behind the last of the other blocks, where the step of a
// device is not yet free.
double CopyInsideNs(const std::vector<Block>& blocks) {
  int64_t first = INT64_MAX;
  int64_t last = INT64_MIN;
  for (const Block& block : blocks) {
    if (block.kind == PartKind::kCopy) continue;
    first = std::min(first, block.begin);
    last = std::max(last, block.end);
  }
  std::vector<Block> inside;
  for (Block block : blocks) {
    block.begin = std::max(block.begin, first);
    block.end = std::min(block.end, last);
    if (block.begin < block.end) inside.push_back(block);
  }
  return CopyAloneNs(inside);
}

using Steps = std::map<int64_t, StepPart>;

StepPart& PartOf(Steps& steps, int64_t step_id) {
  StepPart& step = steps[step_id];
  step.step_id = step_id;
  return step;
}

void AddMemory(const RankInput& rank, const recipes::HostCalls& calls, Steps& steps) {
  const recipes::TraceData& data = rank.data();
  std::map<int64_t, std::vector<Block>> blocks;
  const auto add = [&](std::optional<int64_t> step, const Block& block) {
    if (step) blocks[*step].push_back(block);
  };
  for (const store::DeviceTaskRow& task : data.tasks) {
    const store::TaskKindRow& kind = data.kinds[static_cast<size_t>(task.kind_id)];
    const int64_t end = task.ts + std::max<int64_t>(task.dur, 0);
    if (IsCopy(data, kind)) {
      const auto step = StepAt(data, task.ts);
      add(step, {task.ts, end, PartKind::kCopy});
      if (step) PartOf(steps, *step).memory_ns += static_cast<double>(end - task.ts);
    } else if (IsComputing(data, kind) && task.dur > 0) {
      calls.ForEach(task,
                    [&](int64_t ts) { add(StepAt(data, ts), {task.ts, end, PartKind::kCompute}); });
    }
  }
  for (const store::CommunicationOpRow& op : data.communications) {
    calls.ForEach(op, [&](int64_t ts) {
      add(StepAt(data, ts), {op.ts, rank.view.EndNs(op), PartKind::kCommunicate});
    });
  }
  for (auto& [step, list] : blocks) {
    std::stable_sort(list.begin(), list.end(), [](const Block& a, const Block& b) {
      return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
    });
    StepPart& own = PartOf(steps, step);
    own.memory_alone_ns = CopyAloneNs(list);
    own.memory_inside_ns = CopyInsideNs(list);
  }
}

Status MapClusterTimeSummary(const RankInput& rank, Part& part) {
  const recipes::TraceData& data = rank.data();
  const recipes::HostCalls calls(data);
  Steps steps;
  for (const store::StepRow& step : data.steps) {
    if (step.dur >= 0) PartOf(steps, step.step_id).step_us = static_cast<double>(step.dur) / 1e3;
  }
  SONDE_ASSIGN_OR_RETURN(std::vector<DeliveredStep> delivered, ReadDeliveredSteps(rank.path));
  const bool is_computed = delivered.empty();
  if (is_computed) delivered = ComputeSteps(recipes::DeviceView::Make(data));
  const std::vector<bool> is_of_rank = recipes::OfRankDevice(
      delivered, [](const DeliveredStep& step) { return step.step; },
      [](const DeliveredStep& step) { return step.us[kComputing] + step.us[kNotOverlapped]; });
  for (size_t i = 0; i < delivered.size(); ++i) {
    if (!is_of_rank[i]) continue;
    const DeliveredStep& step = delivered[i];
    StepPart& own = PartOf(steps, base::ParseInt64(step.step).value_or(kNoStep));
    own.is_delivered = true;
    own.is_computed = is_computed;
    own.us = step.us;
  }
  AddMemory(rank, calls, steps);
  for (size_t i = 0; i < data.communications.size(); ++i) {
    const store::CommunicationOpRow& op = data.communications[i];
    const auto& shown = rank.view.communications[i];
    calls.ForEach(op, [&](int64_t ts) {
      const auto step = StepAt(data, ts);
      if (!step) return;
      part.Rows<OpPart>().push_back(
          {shown.group_name, shown.name, *step, static_cast<double>(rank.view.EndNs(op) - op.ts)});
    });
  }
  for (const auto& [id, step] : steps) {
    const bool is_wanted = rank.options.step_id < 0 || rank.options.step_id == id;
    const bool has_data = step.is_delivered || step.memory_ns > 0 || !part.Rows<OpPart>().empty();
    if (is_wanted && has_data) part.Rows<StepPart>().push_back(step);
  }
  return {};
}

using CommunicationKey = std::tuple<std::string, std::string, int64_t>;

std::map<CommunicationKey, double> TransmitTimes(std::span<const RankPart> ranks) {
  std::map<CommunicationKey, double> transmit;
  for (const RankPart& rank : ranks) {
    for (const OpPart& op : rank.part.Rows<OpPart>()) {
      const auto [found, is_new] = transmit.try_emplace({op.group, op.name, op.step_id}, op.dur_ns);
      found->second = std::min(found->second, op.dur_ns);
    }
  }
  return transmit;
}

TimeSummaryRow RowOf(int32_t rank, const StepPart& step) {
  constexpr double kNsPerUs = 1e3;
  TimeSummaryRow row{.rank = rank, .step_id = step.step_id};
  row.computing_us = step.us[kComputing];
  row.not_overlapped_us = step.us[kNotOverlapped];
  row.overlapped_us = step.us[kOverlapped];
  row.communication_us = step.us[kCommunicating];
  row.step_us =
      step.step_us >= 0 ? step.step_us : row.computing_us + row.not_overlapped_us + step.us[kFree];
  row.memory_us = step.memory_ns / kNsPerUs;
  row.memory_alone_us = step.memory_alone_ns / kNsPerUs;
  row.free_us = step.us[kFree] - row.memory_alone_us;
  // What the profiler delivered is shown by the reference's rule; our own times are never negative.
  if (step.is_computed && row.free_us < 0) {
    row.free_us = std::max(step.us[kFree] - step.memory_inside_ns / kNsPerUs, 0.0);
  }
  return row;
}

void ReportLongest(const std::vector<TimeSummaryRow>& rows, Outcome& outcome) {
  const auto longest = std::max_element(
      rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.step_us < b.step_us; });
  const auto waited = std::max_element(
      rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.wait_us < b.wait_us; });
  AddFinding(outcome, "cluster.time_summary",
             {std::to_string(longest->rank), std::to_string(longest->step_id),
              Duration(1e3 * longest->step_us), Percent(longest->computing_us, longest->step_us),
              Percent(longest->not_overlapped_us, longest->step_us),
              Percent(longest->free_us, longest->step_us)},
             kTimeSummary);
  if (waited->wait_us <= 0) return;
  AddFinding(outcome, "cluster.summary_wait",
             {std::to_string(waited->rank), std::to_string(waited->step_id),
              Duration(1e3 * waited->wait_us)},
             kTimeSummary)
      .rank = waited->rank;
}

Status ReduceClusterTimeSummary(std::span<const RankPart> ranks, const ModeOptions& /*options*/,
                                Outcome& outcome) {
  const auto rows = TimeSummary(ranks);
  outcome.tables = {TableOf(kTimeSummary, rows)};
  if (!rows.empty()) ReportLongest(rows, outcome);
  return {};
}

// Times of devices are made where they are not delivered.
constexpr recipes::Needs NeedsBeforeTimes() {
  recipes::Needs needs = StepNeeds() | recipes::HostCallNeeds();
  needs.device_times = false;
  return needs;
}

constexpr std::array kClusterTimeSummaryTables = {&kTimeSummary};

}  // namespace

std::vector<TimeSummaryRow> TimeSummary(std::span<const RankPart> ranks) {
  constexpr double kNsPerUs = 1e3;
  const auto transmit = TransmitTimes(ranks);
  std::vector<TimeSummaryRow> rows;
  for (const RankPart& rank : ranks) {
    std::map<int64_t, size_t> places;
    for (const StepPart& step : rank.part.Rows<StepPart>()) {
      places[step.step_id] = rows.size();
      rows.push_back(RowOf(rank.rank, step));
    }
    if (ranks.size() < 2) continue;
    for (const OpPart& op : rank.part.Rows<OpPart>()) {
      const auto place = places.find(op.step_id);
      if (place == places.end()) continue;
      const double transmit_ns = transmit.at({op.group, op.name, op.step_id});
      rows[place->second].transmit_us += transmit_ns / kNsPerUs;
      rows[place->second].wait_us += (op.dur_ns - transmit_ns) / kNsPerUs;
    }
  }
  return rows;
}

constexpr Mode kClusterTimeSummaryMode = {
    .name = "cluster_time_summary",
    .folder = "ClusterTimeSummary",
    .summary = "Where the time of each step went: computing, waiting, transfers, copies, free",
    .tables = kClusterTimeSummaryTables,
    .needs = NeedsBeforeTimes(),
    .wants = "steps or kernels (a recording with the device or, on a CPU, --profile-with-cpu)",
    .map = &MapClusterTimeSummary,
    .reduce = &ReduceClusterTimeSummary};

}  // namespace sonde::cluster
