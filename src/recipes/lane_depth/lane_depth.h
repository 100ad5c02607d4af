// On which row of its lane a timeline draws each slice, by the rule of the ecosystem's viewer.
//
// The slices of a lane by start, the longer first: each takes the lowest row whose last slice has
// ended. Nested slices get their nesting depth; slices that overlap without nesting get rows of
// their own instead of being dropped. A lane is a thread (operators, Python functions and modules
// together), the host calls of one level on a thread, a stream, or any other track; slice.depth of
// the store is the depth within its own track. Cost: rows of the lane a slice. Pure, any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "recipes/intervals.h"
#include "recipes/trace/trace_data.h"

namespace sonde::recipes {

// By index of the slice; in any order.
std::vector<int32_t> LaneDepths(std::span<const Interval> slices);

// By slice_id.
std::vector<int32_t> LaneDepths(const TraceData& data);

}  // namespace sonde::recipes
