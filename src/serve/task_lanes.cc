#include "serve/task_lanes.h"

#include <algorithm>
#include <map>
#include <string>

#include "base/strings.h"

namespace sonde::serve {

using base::Concat;

Result<std::vector<int32_t>> AddTaskLanes(const store::Store& store, TraceMessage& message) {
  std::map<int32_t, TrackMessage*> empty;
  for (TrackMessage& track : message.tracks) {
    if (track.kind == "stream" && track.slices == 0) empty[track.id] = &track;
  }
  std::vector<int32_t> found;
  if (empty.empty()) return found;
  SONDE_ASSIGN_OR_RETURN(
      const store::ResultTable rows,
      store.Query("SELECT track_id, count(*) FROM device_task_ WHERE slice_id >= 0 "
                  "GROUP BY track_id ORDER BY track_id"));
  for (size_t row = 0; row < rows.rows(); ++row) {
    const auto track = empty.find(static_cast<int32_t>(rows.Int(0, row)));
    if (track == empty.end()) continue;
    track->second->depths = 1;
    track->second->slices = rows.Int(1, row);
    found.push_back(track->first);
  }
  return found;
}

Result<std::vector<store::ZoomSlice>> ReadTasks(const store::Store& store, int32_t track) {
  std::vector<store::ZoomSlice> tasks;
  SONDE_RETURN_IF_ERROR(store.Scan(
      Concat("SELECT d.ts, d.dur, d.slice_id, s.name FROM device_task_ d JOIN slice_ s "
             "USING (slice_id) WHERE d.track_id = ",
             std::to_string(track), " ORDER BY d.ts"),
      [&](const store::Chunk& chunk) -> Status {
        for (size_t row = 0; row < chunk.rows(); ++row) {
          tasks.push_back({chunk.Values<int64_t>(0)[row], chunk.Values<int64_t>(1)[row],
                           chunk.Values<int32_t>(2)[row], chunk.Values<int32_t>(3)[row], 1});
        }
        return {};
      }));
  return tasks;
}

void DrawTasks(const std::vector<store::ZoomSlice>& tasks, const store::ZoomWindow& window,
               std::vector<store::ZoomSlice>& out) {
  if (window.pixel_ns < 1) return;
  auto task =
      std::lower_bound(tasks.begin(), tasks.end(), window.begin_ns,
                       [](const store::ZoomSlice& slice, int64_t ts) { return slice.ts < ts; });
  if (task != tasks.begin()) {
    const store::ZoomSlice& before = *std::prev(task);
    if (before.dur < 0 || before.ts + before.dur > window.begin_ns) out.push_back(before);
  }
  int64_t pixel_end = INT64_MIN;
  for (; task != tasks.end() && task->ts < window.end_ns; ++task) {
    if (task->ts >= pixel_end) {
      out.push_back(*task);
      const int64_t pixel = (task->ts - window.begin_ns) / window.pixel_ns;
      pixel_end = window.begin_ns + (pixel + 1) * window.pixel_ns;
      continue;
    }
    store::ZoomSlice& last = out.back();
    const uint32_t count = last.count + 1;
    if (last.dur >= 0 && (task->dur < 0 || task->dur > last.dur)) last = *task;
    last.count = count;
  }
}

}  // namespace sonde::serve
