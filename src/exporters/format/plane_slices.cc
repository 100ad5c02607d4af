#include "exporters/format/plane_slices.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "base/strings.h"

namespace sonde::exporters {
namespace {

using recipes::DeviceView;
using recipes::TraceData;

// Tasks by slice, and by begin and stream.
class Tasks {
 public:
  explicit Tasks(const TraceData& data) : of_slice_(data.slices.size(), store::kNone) {
    for (const store::DeviceTaskRow& task : data.tasks) {
      if (task.slice_id >= 0) of_slice_[static_cast<size_t>(task.slice_id)] = task.task_id;
      const int64_t stream = data.tracks[static_cast<size_t>(task.track_id)].stream_id;
      by_time_.emplace(std::pair(task.ts, stream), task.task_id);
    }
  }

  // Each task is given once.
  int32_t Take(const store::SliceRow& slice, const SliceArguments& arguments) {
    const int32_t own = of_slice_[static_cast<size_t>(slice.slice_id)];
    if (own >= 0) return own;
    const auto stream = arguments.Int(slice.slice_id, "stream id");
    if (!stream) return store::kNone;
    const auto found = by_time_.find({slice.ts, *stream});
    if (found == by_time_.end()) return store::kNone;
    const int32_t task = found->second;
    by_time_.erase(found);
    return task;
  }

 private:
  std::vector<int32_t> of_slice_;
  std::multimap<std::pair<int64_t, int64_t>, int32_t> by_time_;
};

// Operations in the order of their begins, as data.communications is.
class Operations {
 public:
  explicit Operations(const DeviceView& view) : view_(view) {
    const auto& ops = view.data->communications;
    int64_t last = INT64_MIN;
    for (size_t i = 0; i < ops.size(); ++i) {
      last = std::max(last, view.EndNs(ops[i]));
      last_end_ns_.push_back(last);
    }
  }

  // That of the task's call on the host; else the first that the moment lies in.
  size_t Around(const store::SliceRow& slice, int32_t task) const {
    const auto& ops = view_.data->communications;
    const int64_t connection =
        task < 0 ? -1 : view_.data->tasks[static_cast<size_t>(task)].connection_id;
    size_t found = SIZE_MAX;
    auto at = static_cast<size_t>(std::ranges::lower_bound(last_end_ns_, slice.ts) -
                                  last_end_ns_.begin());
    for (; at < ops.size() && ops[at].ts <= slice.ts; ++at) {
      if (view_.EndNs(ops[at]) < slice.ts) continue;
      if (connection >= 0 && ops[at].connection_id == connection) return at;
      if (found == SIZE_MAX) found = at;
    }
    return found;
  }

 private:
  const DeviceView& view_;
  std::vector<int64_t> last_end_ns_;  // of all operations up to this one
};

size_t DeviceOf(const DeviceView& view, const store::TrackRow& track) {
  for (size_t i = 0; i < view.devices.size(); ++i) {
    if (view.devices[i].device_id == track.device_id) return i;
  }
  return 0;
}

}  // namespace

std::vector<PlaneSlice> PlaneSlices(const DeviceView& view, const SliceArguments& arguments) {
  const TraceData& data = *view.data;
  std::vector<PlaneSlice> planes;
  const std::vector<int32_t> slices = data.SlicesOfKinds({recipes::TrackKind::kCommunicationPlane});
  if (slices.empty() || view.devices.empty()) return planes;
  Tasks tasks(data);
  const Operations operations(view);
  constexpr std::string_view kPlane = "Plane ";
  for (const int32_t id : slices) {
    const store::SliceRow& slice = data.Slice(id);
    const store::TrackRow& track = data.TrackOf(slice);
    const std::string_view name = data.Name(track.name);
    PlaneSlice plane{.slice_id = id, .device = DeviceOf(view, track)};
    if (name.starts_with(kPlane)) {
      plane.plane = base::ParseInt64(name.substr(kPlane.size())).value_or(0);
    }
    plane.task = tasks.Take(slice, arguments);
    plane.operation = operations.Around(slice, plane.task);
    if (plane.operation != SIZE_MAX) plane.device = view.communications[plane.operation].device;
    planes.push_back(plane);
  }
  return planes;
}

}  // namespace sonde::exporters
