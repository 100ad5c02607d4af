#include "recipes/memory_summary/memory_summary.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace sonde::recipes {
namespace {

using Key = std::tuple<int32_t, int16_t, int16_t>;

void Take(const store::MemoryEventRow& event, MemorySummaryRow& row) {
  if (event.size_bytes >= 0) {
    ++row.allocations;
    row.allocated_bytes += event.size_bytes;
  } else {
    ++row.releases;
    row.released_bytes -= event.size_bytes;
  }
  if (event.total_allocated > row.peak_allocated_bytes) {
    row.peak_allocated_bytes = event.total_allocated;
    row.peak_ns = event.ts;
  }
  row.peak_reserved_bytes = std::max(row.peak_reserved_bytes, event.total_reserved);
  row.peak_active_bytes = std::max(row.peak_active_bytes, event.total_active);
}

}  // namespace

std::vector<MemorySummaryRow> MemorySummary(const TraceData& data) {
  std::map<Key, MemorySummaryRow> devices;
  for (const store::MemoryEventRow& event : data.memory_events) {
    Take(event, devices[{event.process_id, event.device_type, event.device_index}]);
  }
  for (const store::MemoryBlockRow& block : data.memory_blocks) {
    if (block.alloc_ts < 0 || block.free_ts >= 0) continue;
    MemorySummaryRow& row = devices[{block.process_id, block.device_type, block.device_index}];
    ++row.alive_blocks;
    row.alive_bytes += block.size_bytes;
  }
  std::vector<MemorySummaryRow> rows;
  for (auto& [key, row] : devices) {
    std::tie(row.process_id, row.device_type, row.device_index) = key;
    rows.push_back(row);
  }
  return rows;
}

}  // namespace sonde::recipes
