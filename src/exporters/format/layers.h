// Processes and rows of trace_view.json.
//
// The layers of a rank are shown as processes of their own; their pid is made of the real one:
//   pid = (pid of the process << 10) | (sort index of the layer << 5) | device
// with device 31 for layers of the host. The framework's layer keeps the real pid.
#pragma once

#include <cstdint>

namespace sonde::exporters {

enum class Layer : int64_t {
  kPython = 0,
  kGarbageCollection = 1,
  kMarkers = 6,
  kHostApi = 7,
  kOtherHost = 8,
  kHardware = 14,
  kCommunication = 16,
  kOtherDevice = 30,
  kOverlap = 31,
};

inline constexpr int64_t kHostDevice = 31;

inline int64_t LayerPid(int64_t pid, Layer layer, int64_t device) {
  return (pid << 10) | (static_cast<int64_t>(layer) << 5) | (device & 31);
}

// Rows that would overlap lie on rows of their own: lane n of thread t. Thread ids of Linux stay
// below 2^22, so that these do not collide.
inline int64_t LaneTid(int64_t tid, int64_t lane) { return tid + (lane << 22); }

}  // namespace sonde::exporters
