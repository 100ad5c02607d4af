// Processes and rows of the device layers of trace_view.json. Pure, any thread.
#pragma once

#include <cstdint>
#include <string>

#include "exporters/format/layers.h"
#include "recipes/trace/device_view.h"

namespace sonde::exporters {

// Where the CPU is the device the layers say so.
inline std::string DeviceLabel(const recipes::Device& device) {
  return device.is_cpu ? "CPU" : "NPU " + std::to_string(device.device_id);
}

inline int64_t DevicePid(const recipes::Device& device, Layer layer) {
  return LayerPid(device.pid, layer, device.device_id);
}

// Row of an operation in the communication layer: a group has one row a lane.
inline int64_t GroupTid(const recipes::DeviceView& view, const recipes::CommunicationView& op) {
  size_t tid = op.lane;
  for (size_t group = 0; group < op.group; ++group) tid += view.group_lanes[group];
  return static_cast<int64_t>(tid);
}

}  // namespace sonde::exporters
