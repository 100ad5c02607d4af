// Lanes of device tasks that are no slices of their own: where a CPU is the device, its tasks are
// the operators of the host, shown once more as what the device did.
//
// Pure functions and one reader of a store; any thread. Times: nanoseconds of the epoch.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "serve/messages.h"
#include "store/store.h"
#include "store/zoom_index.h"

namespace sonde::serve {

// Gives streams without slices one lane for their tasks; returns their numbers, ascending.
Result<std::vector<int32_t>> AddTaskLanes(const store::Store& store, TraceMessage& message);

// The tasks of a stream in the order of time, as slices: each has the number and the name of the
// slice that it is of.
Result<std::vector<store::ZoomSlice>> ReadTasks(const store::Store& store, int32_t track);

// As ZoomIndex::Query: those that touch the window, at most one that begins in each pixel.
void DrawTasks(const std::vector<store::ZoomSlice>& tasks, const store::ZoomWindow& window,
               std::vector<store::ZoomSlice>& out);

}  // namespace sonde::serve
