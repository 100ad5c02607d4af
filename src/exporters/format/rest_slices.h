// Slices without rows in other tables: only they have their contents, so that each form either
// writes them or counts them as left out.
//
// Pure, any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "exporters/format/left_out.h"
#include "recipes/trace/device_view.h"

namespace sonde::exporters {

// Those that are no operator, annotation, module or function of Python, no collection of garbage,
// task, operation of communication, mark or call of the host's interface, and not computed again
// (overlap, spans of a whole recording). In the order of slice_id.
std::vector<int32_t> RestSlices(const recipes::DeviceView& view);

// Entries of a queue between host threads: "Enqueue", "Dequeue@op".
bool IsQueueSlice(const recipes::TraceData& data, const store::SliceRow& slice);
// Calls of a device's runtime or driver on the host, as Kineto has them.
bool IsRuntimeCall(const recipes::TraceData& data, const store::SliceRow& slice);

// Counts slices by category.
void LeaveOutSlices(const recipes::TraceData& data, std::span<const int32_t> slices,
                    std::string_view form, LeftOut* left_out);

}  // namespace sonde::exporters
