// The operators of a trace in the order of their start over all threads, and sums along the tree of
// nested operators.
//
// The peer builds one tree over all threads: an operator becomes the child of whatever operator is
// open anywhere when it starts, so that with two busy threads durations are subtracted from parents
// that never called them. We nest by thread (the store's parent_id), which is what users mean, and
// which gives the same result for a single thread.
// Cost: linear. Pure, any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "recipes/trace/trace_data.h"

namespace sonde::recipes {

// Indices into data.ops of the operators (IsOperator), steps left out if asked, by (start, thread,
// depth).
std::vector<uint32_t> OperatorsByStart(const TraceData& data, bool with_steps);

// For every slice: the sum of the durations of its direct children that are operators.
std::vector<int64_t> ChildDurationsNs(const TraceData& data);

// For every slice: the sum over the device tasks that it launched, and with those of all its
// descendants.
struct DeviceTimes {
  std::vector<int64_t> self_ns;
  std::vector<int64_t> total_ns;
};
enum class DeviceWork : uint8_t {
  kAll,     // tasks and communication operations
  kAiCore,  // kernels that the device's queue or the kernels' table calls AI_CORE
};
DeviceTimes DeviceTimesNs(const TraceData& data, DeviceWork work);

}  // namespace sonde::recipes
