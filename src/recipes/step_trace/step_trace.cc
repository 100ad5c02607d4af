#include "recipes/step_trace/step_trace.h"

#include <algorithm>
#include <limits>

#include "recipes/meaning/meaning.h"
#include "recipes/recipe.h"
#include "recipes/step_trace/rank_device.h"

namespace sonde::recipes {
namespace {

constexpr int64_t kEarliest = std::numeric_limits<int64_t>::min();
constexpr int64_t kLatest = std::numeric_limits<int64_t>::max();

// Those that start in [from_ns, to_ns); the list is sorted by start.
std::span<const Interval> StartingIn(std::span<const Interval> sorted, int64_t from_ns,
                                     int64_t to_ns) {
  const auto earlier = [](const Interval& interval, int64_t t_ns) {
    return interval.start_ns < t_ns;
  };
  const auto first = std::lower_bound(sorted.begin(), sorted.end(), from_ns, earlier);
  const auto last = std::lower_bound(first, sorted.end(), to_ns, earlier);
  return sorted.subspan(static_cast<size_t>(first - sorted.begin()),
                        static_cast<size_t>(last - first));
}

// Values that both rules derive from the sums.
void Complete(StepTraceRow& row) {
  row.overlapped_ns = row.communication_ns - row.not_overlapped_ns;
  row.not_overlapped_without_receive_ns =
      std::max<int64_t>(row.not_overlapped_ns - row.bubble_ns, 0);
}

std::optional<StepTraceRow> RowFromTasks(const StepTraceInput& input, const StepRange& step) {
  const auto part = [&](std::span<const Interval> all) {
    const auto own = StartingIn(all, step.start_ns, step.end_ns);
    return std::vector<Interval>(own.begin(), own.end());
  };
  const Overlap overlap = AnalyseOverlap(part(input.computing), part(input.communication));
  const std::vector<Interval> busy = Unite(overlap.computing, overlap.communication);
  if (busy.empty()) return std::nullopt;
  StepTraceRow row;
  row.computing_ns = TotalNs(overlap.computing);
  row.communication_ns = TotalNs(overlap.communication);
  row.not_overlapped_ns = TotalNs(overlap.not_overlapped);
  row.free_ns = TotalNs(overlap.free);
  row.bubble_ns = TotalNs(StartingIn(input.receives, step.start_ns, step.end_ns));
  row.stage_ns = busy.back().end_ns - busy.front().start_ns - row.bubble_ns;
  row.preparing_ns = busy.front().start_ns - step.host_start_ns;
  Complete(row);
  return row;
}

std::optional<StepTraceRow> RowFromTimeline(const Overlap& overlap,
                                            std::span<const Interval> receives,
                                            const StepRange& step) {
  StepTraceRow row;
  int64_t first_ns = kLatest;
  int64_t last_ns = kEarliest;
  int64_t first_busy_ns = kLatest;
  const auto sum = [&](std::span<const Interval> all, bool is_busy) {
    const auto own = StartingIn(all, step.start_ns, step.end_ns);
    for (const Interval& interval : own) {
      first_ns = std::min(first_ns, interval.start_ns);
      last_ns = std::max(last_ns, interval.end_ns);
      if (is_busy) first_busy_ns = std::min(first_busy_ns, interval.start_ns);
    }
    return TotalNs(own);
  };
  row.computing_ns = sum(overlap.computing, true);
  row.communication_ns = sum(overlap.communication, true);
  row.not_overlapped_ns = sum(overlap.not_overlapped, false);
  row.free_ns = sum(overlap.free, false);
  row.bubble_ns = sum(receives, false);
  if (first_ns == kLatest) return std::nullopt;
  row.stage_ns = last_ns - first_ns - row.bubble_ns;
  if (first_busy_ns != kLatest) row.preparing_ns = first_busy_ns - step.host_start_ns;
  Complete(row);
  return row;
}

template <class RowOf>
std::vector<StepTraceRow> ForEachStep(std::span<const StepRange> steps, int64_t first_op_start_ns,
                                      RowOf&& row_of) {
  std::vector<StepTraceRow> rows;
  if (steps.empty()) {
    if (auto row = row_of(StepRange{0, kEarliest, kLatest, first_op_start_ns})) {
      rows.push_back(*row);
    }
    return rows;
  }
  for (const StepRange& step : steps) {
    if (auto row = row_of(step)) {
      row->step_id = step.step_id;
      rows.push_back(*row);
    }
  }
  std::stable_sort(rows.begin(), rows.end(), [](const StepTraceRow& a, const StepTraceRow& b) {
    return a.step_id < b.step_id;
  });
  return rows;
}

}  // namespace

std::vector<StepTraceRow> StepTraceFromTasks(const StepTraceInput& input) {
  return ForEachStep(input.steps, input.first_op_start_ns,
                     [&](const StepRange& step) { return RowFromTasks(input, step); });
}

std::vector<StepTraceRow> StepTraceFromTimeline(const Overlap& overlap,
                                                std::span<const Interval> receives,
                                                std::span<const StepRange> steps,
                                                int64_t first_op_start_ns) {
  return ForEachStep(steps, first_op_start_ns, [&](const StepRange& step) {
    return RowFromTimeline(overlap, receives, step);
  });
}

namespace {

#define SONDE_COLUMNS_STEP_TRACE(C)                                                              \
  C(process_id, Opt, "", KeyOf("process"), "process that the device is of")                      \
  C(device_id, Int, "", KeyOf("device"), "number of the device in its process")                  \
  C(step_id, Opt, "", KeyOf("step"), "number of the step; NULL: the trace has no steps")         \
  C(computing_ns, Int, "ns", kNeither, "union of the computing tasks")                           \
  C(not_overlapped_ns, Int, "ns", kLess, "communication while nothing was computed")             \
  C(overlapped_ns, Int, "ns", kNeither, "communication while something was computed")            \
  C(communication_ns, Int, "ns", kNeither, "union of the communication operations")              \
  C(free_ns, Int, "ns", kLess, "between first begin and last end of both: neither of them")      \
  C(stage_ns, Int, "ns", kLess, "from first begin to last end, less the bubble")                 \
  C(bubble_ns, Int, "ns", kLess, "receiving from the stage of a pipeline before or behind")      \
  C(preparing_ns, Int, "ns", kLess, "from the begin of the step on the host to the first begin") \
  C(copying_ns, Int, "ns", kLess, "copies and fills while nothing was computed or communicated") \
  C(idle_ns, Int, "ns", kLess,                                                                   \
    "between first begin and last end of computing, communication and copies: none of them")     \
  C(is_of_rank, Int, "", kLabel,                                                                 \
    "1: of the devices of its rank the one that was busy longest in the step")
SONDE_RESULT(StepTraceRecord, kStepTrace, "step_trace", SONDE_COLUMNS_STEP_TRACE,
             "where the time of a step of a device went")

void RunStepTrace(const DeviceView& view, store::RowSink& rows) {
  std::vector<StepTraceRecord> records;
  for (size_t i = 0; i < view.devices.size(); ++i) {
    const Device& device = view.devices[i];
    const std::vector<CopyTimes> copies = CopyTimesOf(view, i);
    for (size_t k = 0; k < device.steps.size(); ++k) {
      const StepTraceRow& step = device.steps[k];
      records.push_back({.process_id = device.process_id,
                         .device_id = device.device_id,
                         .step_id = step.step_id.value_or(-1),
                         .computing_ns = step.computing_ns,
                         .not_overlapped_ns = step.not_overlapped_ns,
                         .overlapped_ns = step.overlapped_ns,
                         .communication_ns = step.communication_ns,
                         .free_ns = step.free_ns,
                         .stage_ns = step.stage_ns,
                         .bubble_ns = step.bubble_ns,
                         .preparing_ns = step.preparing_ns,
                         .copying_ns = copies[k].copying_ns,
                         .idle_ns = copies[k].idle_ns});
    }
  }
  const std::vector<bool> is_of_rank = OfRankDevice(
      records, [](const StepTraceRecord& one) { return one.step_id; },
      [](const StepTraceRecord& one) { return one.computing_ns + one.not_overlapped_ns; });
  for (size_t i = 0; i < records.size(); ++i) {
    records[i].is_of_rank = is_of_rank[i] ? 1 : 0;
    records[i].Write(rows);
  }
}

}  // namespace

extern const Recipe kStepTraceRecipe;
constexpr Recipe kStepTraceRecipe = {
    &kStepTrace,
    Reads<store::DeviceTaskRow, store::CommunicationOpRow, store::StepRow>().WithDeviceTimes(),
    &RunStepTrace};

}  // namespace sonde::recipes
