// Use of each device's memory, by its manager: traffic, peaks, and the remainder.
//
//   component               PTA the framework's allocator, GE the graph engine's, APP all of the
//                           process (reserved only), others as the trace names them; PTA+GE the sum
//                           of these two at each moment, where both are there
//   allocations, releases   number of events; allocated_bytes, released_bytes: their sums
//   peak_*_bytes            highest total that the allocator reported; -1: unknown
//   peak_ns                 when the first peak of the allocated total was reached; -1 unknown
//   alive_*                 blocks allocated while recording and not released before its end
// By process, device, component. Sizes in bytes, times in nanoseconds of the Unix epoch. Pure, any
// thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "recipes/trace/trace_data.h"

namespace sonde::recipes {

struct MemorySummaryRow {
  int32_t process_id = store::kNone;
  int16_t device_type = 0;
  int16_t device_index = 0;
  std::string_view component;  // of the trace's names
  int64_t allocations = 0;
  int64_t releases = 0;
  int64_t allocated_bytes = 0;
  int64_t released_bytes = 0;
  int64_t peak_allocated_bytes = -1;
  int64_t peak_reserved_bytes = -1;
  int64_t peak_active_bytes = -1;
  int64_t peak_ns = -1;
  int64_t alive_blocks = 0;
  int64_t alive_bytes = 0;
};

std::vector<MemorySummaryRow> MemorySummary(const TraceData& data);

}  // namespace sonde::recipes
