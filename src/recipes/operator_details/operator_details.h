// Every framework operator with its durations on host and device (operator_details.csv).
//
//   host total    end - start                    host self    total - sum of its direct children
//   device self   sum over the device tasks and communication operations that the operator launched
//   device total  the same with all its descendants
//   ... with AICore: only kernels of AI_CORE (cores of an NPU; 0 on the CPU), see DeviceWork
// Rows: every operator except ProfilerStep#N, by start over all threads. The peer's rows and
// formulas, but for the nesting by thread (trace/op_order.h).
// Units: nanoseconds. Pure, any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "recipes/trace/trace_data.h"

namespace sonde::recipes {

struct OperatorRow {
  uint32_t op = 0;  // index into data.ops
  int64_t host_self_ns = 0;
  int64_t host_total_ns = 0;
  int64_t device_self_ns = 0;
  int64_t device_total_ns = 0;
  int64_t aicore_self_ns = 0;
  int64_t aicore_total_ns = 0;
};

std::vector<OperatorRow> OperatorDetails(const TraceData& data);

}  // namespace sonde::recipes
