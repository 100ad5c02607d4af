#include "exporters/format/task_parts.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

namespace sonde::exporters {
namespace {

int64_t ContextOf(const recipes::TraceData& data, const store::DeviceTaskRow& task) {
  return data.kinds[static_cast<size_t>(task.kind_id)].context_id;
}

}  // namespace

std::vector<size_t> WholeFirst(const recipes::TraceData& data) {
  std::vector<size_t> order(data.tasks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto key = [&](size_t i) {
    const store::DeviceTaskRow& task = data.tasks[i];
    return std::tuple(task.ts, -task.dur, ContextOf(data, task), i);
  };
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return key(a) < key(b); });
  return order;
}

TaskParts::TaskParts(const recipes::TraceData& data) {
  const bool is_any = std::ranges::any_of(
      data.kinds, [](const store::TaskKindRow& kind) { return kind.context_id >= 0; });
  if (!is_any) return;
  has_parts.resize(data.tasks.size());
  is_part.resize(data.tasks.size());
  const auto end_of = [&](size_t i) { return data.tasks[i].ts + data.tasks[i].dur; };
  std::map<std::pair<int32_t, int64_t>, size_t> whole;  // by track and number: the last one
  for (const size_t i : WholeFirst(data)) {
    const store::DeviceTaskRow& task = data.tasks[i];
    const std::pair place(task.track_id, task.queue_number);
    if (ContextOf(data, task) < 0) {
      whole[place] = i;
      continue;
    }
    const auto around = whole.find(place);
    if (around == whole.end() || end_of(i) > end_of(around->second)) continue;
    is_part[i] = true;
    has_parts[around->second] = true;
  }
}

}  // namespace sonde::exporters
