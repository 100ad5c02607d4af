// Processes and rows of the device layers of trace_view.json. Pure, any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "exporters/format/layers.h"
#include "exporters/format/plane_slices.h"
#include "recipes/trace/device_view.h"

namespace sonde::exporters {

// Where the CPU is the device the layers are named so.
inline std::string DeviceLabel(const recipes::Device& device) {
  return device.is_cpu ? "CPU" : "NPU " + std::to_string(device.device_id);
}

inline int64_t DevicePid(const recipes::Device& device, Layer layer) {
  return LayerPid(device.pid, layer, device.device_id);
}

// Rows of the communication layer: a group has one row a lane, and its planes behind them.
class CommunicationRows {
 public:
  CommunicationRows(const recipes::DeviceView& view, const std::vector<PlaneSlice>& planes)
      : view_(view) {
    for (const PlaneSlice& plane : planes) planes_[PlaneKey(plane)] = 0;
    int64_t next = 0;
    auto plane = planes_.begin();
    for (size_t group = 0; group <= view.group_lanes.size(); ++group) {
      first_.push_back(next);
      if (group < view.group_lanes.size()) next += static_cast<int64_t>(view.group_lanes[group]);
      for (; plane != planes_.end() && plane->first.first == group; ++plane) {
        plane->second = next++;
      }
    }
  }

  int64_t OfOperation(const recipes::CommunicationView& op) const {
    return first_[op.group] + static_cast<int64_t>(op.lane);
  }
  int64_t OfPlane(const PlaneSlice& plane) const { return planes_.at(PlaneKey(plane)); }

 private:
  // Group and track; what lies within no operation comes behind all groups.
  std::pair<size_t, int32_t> PlaneKey(const PlaneSlice& plane) const {
    const size_t group = plane.operation == SIZE_MAX ? view_.group_lanes.size()
                                                     : view_.communications[plane.operation].group;
    return {group, view_.data->Slice(plane.slice_id).track_id};
  }

  const recipes::DeviceView& view_;
  std::vector<int64_t> first_;  // by group
  std::map<std::pair<size_t, int32_t>, int64_t> planes_;
};

}  // namespace sonde::exporters
