// Device tasks and communication operations in one list (kernel_details.csv).
//
// By start. Wait time, the peer's rule (checked on a real capture of 2 463 rows):
//   wait_i = max(0, start_i - end of row i-1) over all streams of the device; first row 0.
// Units: nanoseconds. Pure, any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "recipes/trace/device_view.h"

namespace sonde::recipes {

struct KernelRow {
  bool is_communication = false;
  uint32_t index = 0;  // into data.tasks or data.communications
  int64_t wait_ns = 0;
};

std::vector<KernelRow> KernelDetails(const DeviceView& view);

// The rule by itself: intervals of one device sorted by start -> waits.
std::vector<int64_t> WaitTimesNs(std::span<const Interval> sorted);

}  // namespace sonde::recipes
