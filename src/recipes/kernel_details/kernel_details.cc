#include "recipes/kernel_details/kernel_details.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "recipes/recipe.h"

namespace sonde::recipes {
namespace {

class WaitRule {
 public:
  int64_t Next(int64_t start_ns, int64_t end_ns) {
    const int64_t wait_ns = last_end_ns_ ? std::max<int64_t>(0, start_ns - *last_end_ns_) : 0;
    last_end_ns_ = end_ns;
    return wait_ns;
  }

 private:
  std::optional<int64_t> last_end_ns_;
};

}  // namespace

std::vector<int64_t> WaitTimesNs(std::span<const Interval> sorted) {
  WaitRule rule;
  std::vector<int64_t> waits;
  waits.reserve(sorted.size());
  for (const Interval& interval : sorted) {
    waits.push_back(rule.Next(interval.start_ns, interval.end_ns));
  }
  return waits;
}

namespace {

// Tasks that are operations of communication, which have rows of their own: kernels of NCCL. They
// share a slice, or in databases, which have a row for each, begin and duration.
class TasksOfOperations {
 public:
  explicit TasksOfOperations(const TraceData& data)
      : data_(data), is_operation_(data.slices.size()) {
    for (const store::CommunicationOpRow& op : data.communications) {
      if (op.slice_id >= 0 && static_cast<size_t>(op.slice_id) < is_operation_.size()) {
        is_operation_[static_cast<size_t>(op.slice_id)] = true;
      }
      times_.insert({op.ts, op.dur});
    }
  }

  bool Holds(const store::DeviceTaskRow& task) const {
    if (data_.Name(data_.kinds[static_cast<size_t>(task.kind_id)].core) != "COMMUNICATION") {
      return false;
    }
    const auto slice = static_cast<size_t>(task.slice_id);  // a large one where it is none
    return (slice < is_operation_.size() && is_operation_[slice]) ||
           times_.contains({task.ts, task.dur});
  }

 private:
  const TraceData& data_;
  std::vector<bool> is_operation_;
  std::set<std::pair<int64_t, int64_t>> times_;
};

}  // namespace

std::vector<KernelRow> KernelDetails(const DeviceView& view) {
  const auto& tasks = view.data->tasks;
  const auto& ops = view.data->communications;
  std::vector<WaitRule> rules(view.devices.size());
  std::vector<KernelRow> rows;
  rows.reserve(tasks.size() + ops.size());
  uint32_t task = 0;
  uint32_t op = 0;
  const auto& kinds = view.data->kinds;
  const TasksOfOperations of_operations(*view.data);
  while (task < tasks.size() || op < ops.size()) {
    // Copies, waits and events of a device's queues are tasks, but no kernels.
    if (task < tasks.size() &&
        (kinds[static_cast<size_t>(tasks[task].kind_id)].core == store::kNone ||
         of_operations.Holds(tasks[task]))) {
      ++task;
      continue;
    }
    KernelRow row;
    row.is_communication = task == tasks.size() || (op < ops.size() && ops[op].ts < tasks[task].ts);
    if (row.is_communication) {
      row.index = op++;
      const auto& shown = ops[row.index];
      row.wait_ns = rules[view.communications[row.index].device].Next(shown.ts, view.EndNs(shown));
    } else {
      row.index = task++;
      const auto& shown = tasks[row.index];
      const size_t device = view.device_of_track[static_cast<size_t>(shown.track_id)];
      row.wait_ns = rules[device].Next(shown.ts, shown.ts + std::max<int64_t>(shown.dur, 0));
    }
    rows.push_back(row);
  }
  return rows;
}

namespace {

#define SONDE_COLUMNS_KERNEL_DETAILS(C)                                             \
  C(name, Text, "", KeyOf("kernel"), "of the task or communication operation")      \
  C(type, Text, "", KeyOf("op_type"), "type of the operator")                       \
  C(core, Text, "", KeyOf("core"), "AI_CORE, CPU, COMMUNICATION, ...: what ran it") \
  C(start_ns, Int, "ns", kLabel, "begin, of the Unix epoch")                        \
  C(dur_ns, Int, "ns", kLess, "duration")                                           \
  C(wait_ns, Int, "ns", kLess, "between the end of the one before on the device and its begin")
SONDE_RESULT(KernelRecord, kKernelDetails, "kernel_details", SONDE_COLUMNS_KERNEL_DETAILS,
             "a device task or communication operation")

KernelRecord TaskRecord(const TraceData& data, const KernelRow& row) {
  const store::DeviceTaskRow& task = data.tasks[row.index];
  const store::TaskKindRow& kind = data.kinds[static_cast<size_t>(task.kind_id)];
  return {data.Name(kind.name), data.Name(kind.op_type), data.Name(kind.core), task.ts, task.dur,
          row.wait_ns};
}

KernelRecord CommunicationRecord(const DeviceView& view, const KernelRow& row) {
  const store::CommunicationOpRow& op = view.data->communications[row.index];
  const CommunicationView& shown = view.communications[row.index];
  return {shown.name, shown.type, "COMMUNICATION", op.ts, view.EndNs(op) - op.ts, row.wait_ns};
}

void RunKernelDetails(const DeviceView& view, store::RowSink& rows) {
  for (const KernelRow& row : KernelDetails(view)) {
    (row.is_communication ? CommunicationRecord(view, row) : TaskRecord(*view.data, row))
        .Write(rows);
  }
}

}  // namespace

extern const Recipe kKernelDetailsRecipe;
constexpr Recipe kKernelDetailsRecipe = {
    &kKernelDetails, Reads<store::DeviceTaskRow, store::CommunicationOpRow>().WithBounds(),
    &RunKernelDetails};

}  // namespace sonde::recipes
