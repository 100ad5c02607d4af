// Transfers and waits of communication operations as a device reported them: slices on its planes.
//
// A slice may be a task of a stream, too: databases refer to it by number, timelines only by time
// and stream. Units: nanoseconds. Pure after construction, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "exporters/format/slice_arguments.h"
#include "recipes/trace/device_view.h"

namespace sonde::exporters {

struct PlaneSlice {
  int32_t slice_id = store::kNone;
  int64_t plane = 0;
  size_t operation = SIZE_MAX;  // index of data.communications, SIZE_MAX: within none
  int32_t task = store::kNone;  // index of data.tasks
  size_t device = 0;            // index of view.devices
};

// In the order of their tracks and begins. Empty where there are no devices.
std::vector<PlaneSlice> PlaneSlices(const recipes::DeviceView& view,
                                    const SliceArguments& arguments);

}  // namespace sonde::exporters
