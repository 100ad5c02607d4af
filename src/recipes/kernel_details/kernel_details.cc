#include "recipes/kernel_details/kernel_details.h"

#include <algorithm>
#include <optional>

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

std::vector<KernelRow> KernelDetails(const DeviceView& view) {
  const auto& tasks = view.data->tasks;
  const auto& ops = view.data->communications;
  std::vector<WaitRule> rules(view.devices.size());
  std::vector<KernelRow> rows;
  rows.reserve(tasks.size() + ops.size());
  uint32_t task = 0;
  uint32_t op = 0;
  const auto& kinds = view.data->kinds;
  while (task < tasks.size() || op < ops.size()) {
    // Copies, waits and events of a device's queues are tasks, but no kernels.
    if (task < tasks.size() &&
        kinds[static_cast<size_t>(tasks[task].kind_id)].core == store::kNone) {
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

}  // namespace sonde::recipes
