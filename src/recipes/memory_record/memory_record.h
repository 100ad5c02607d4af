// The curve of memory as its deliverables show it (memory_record.csv, table MEMORY_RECORD).
//
// One row an event, by component. Behind each event of the framework's allocator (PTA) and of the
// graph engine's (GE) comes the sum over both, PTA+GE: its totals and the last of the other one on
// the same device. A capture without components has the framework's allocator alone. Rows of APP
// come first, those of components that are not known last; the rest by time.
// Units: bytes; -1 unknown. Pure, any thread.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "recipes/trace/trace_data.h"

namespace sonde::recipes {

inline constexpr std::string_view kFrameworkMemory = "PTA";
inline constexpr std::string_view kGraphEngineMemory = "GE";
inline constexpr std::string_view kAllMemory = "PTA+GE";
inline constexpr std::string_view kProcessMemory = "APP";

struct MemoryRecordRow {
  static constexpr uint32_t kNoEvent = std::numeric_limits<uint32_t>::max();

  uint32_t event = 0;         // index into data.memory_events
  uint32_t other = kNoEvent;  // the last event of the other component, where there is a sum
  bool has_sum = false;
};

std::vector<MemoryRecordRow> MemoryRecord(const TraceData& data);

// One line of the deliverables.
struct MemoryLine {
  std::string_view component;
  int64_t total_allocated = -1;
  int64_t total_reserved = -1;
  int64_t total_active = -1;
  std::optional<int64_t> stream;  // of the framework's allocator only
};
MemoryLine EventLine(const TraceData& data, const MemoryRecordRow& row);
MemoryLine SumLine(const TraceData& data, const MemoryRecordRow& row);

// Name of the component of an event or block: PTA where none is recorded.
std::string_view MemoryComponent(const TraceData& data, int32_t component);
// Whether it is part of PTA+GE.
bool HasSum(std::string_view component);
// The graph engine and the process as a whole know no streams.
bool HasStream(std::string_view component);

}  // namespace sonde::recipes
