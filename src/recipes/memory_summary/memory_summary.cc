#include "recipes/memory_summary/memory_summary.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "recipes/memory_record/memory_record.h"
#include "recipes/operator_memory/operator_memory.h"
#include "recipes/recipe.h"

namespace sonde::recipes {
namespace {

using Key = std::tuple<int32_t, int16_t, int16_t, std::string_view>;
using SummaryRows = std::map<Key, MemorySummaryRow>;

void TakeTotals(const MemoryLine& line, int64_t ts, MemorySummaryRow& row) {
  if (line.total_allocated > row.peak_allocated_bytes) {
    row.peak_allocated_bytes = line.total_allocated;
    row.peak_ns = ts;
  }
  row.peak_reserved_bytes = std::max(row.peak_reserved_bytes, line.total_reserved);
  row.peak_active_bytes = std::max(row.peak_active_bytes, line.total_active);
}

void TakeTraffic(const store::MemoryEventRow& event, MemorySummaryRow& row) {
  if (event.size_bytes >= 0) {
    ++row.allocations;
    row.allocated_bytes += event.size_bytes;
  } else {
    ++row.releases;
    row.released_bytes -= event.size_bytes;
  }
}

void TakeEvents(const TraceData& data, SummaryRows& rows) {
  for (const MemoryRecordRow& record : MemoryRecord(data)) {
    const store::MemoryEventRow& event = data.memory_events[record.event];
    const MemoryLine line = EventLine(data, record);
    MemorySummaryRow& row =
        rows[{event.process_id, event.device_type, event.device_index, line.component}];
    TakeTraffic(event, row);
    TakeTotals(line, event.ts, row);
    if (!record.has_sum) continue;
    MemorySummaryRow& sum =
        rows[{event.process_id, event.device_type, event.device_index, kAllMemory}];
    TakeTraffic(event, sum);
    TakeTotals(SumLine(data, record), event.ts, sum);
  }
}

void TakeBlocks(const TraceData& data, SummaryRows& rows) {
  for (const store::MemoryBlockRow& block : data.memory_blocks) {
    if (block.alloc_ts < 0 || block.free_ts >= 0) continue;
    const std::string_view component = MemoryComponent(data, block.component);
    for (const std::string_view of : {component, kAllMemory}) {
      if (of == kAllMemory && !HasSum(component)) continue;
      MemorySummaryRow& row = rows[{block.process_id, block.device_type, block.device_index, of}];
      ++row.alive_blocks;
      row.alive_bytes += block.size_bytes;
    }
  }
}

}  // namespace

std::vector<MemorySummaryRow> MemorySummary(const TraceData& data) {
  SummaryRows components;
  TakeEvents(data, components);
  TakeBlocks(data, components);
  std::vector<MemorySummaryRow> rows;
  for (auto& [key, row] : components) {
    std::tie(row.process_id, row.device_type, row.device_index, row.component) = key;
    const auto& [process, type, index, component] = key;
    // The sum of one is that one.
    const bool has_both = components.contains({process, type, index, kFrameworkMemory}) &&
                          components.contains({process, type, index, kGraphEngineMemory});
    if (component != kAllMemory || has_both) rows.push_back(row);
  }
  return rows;
}

namespace {

#define SONDE_COLUMNS_MEMORY_SUMMARY(C)                                                        \
  C(pid, Int, "", KeyOf("pid"), "process, number of the operating system")                     \
  C(device, Text, "", KeyOf("memory_device"), "CPU, NPU:0, ...")                               \
  C(component, Text, "", KeyOf("component"), "who manages it: PTA, GE, PTA+GE, APP, ...")      \
  C(allocations, Int, "", kLess, "how many")                                                   \
  C(releases, Int, "", kNeither, "how many")                                                   \
  C(allocated_bytes, Int, "bytes", kLess, "sum of the allocations")                            \
  C(released_bytes, Int, "bytes", kNeither, "sum of the releases")                             \
  C(peak_allocated_bytes, Opt, "bytes", kLess, "highest total; NULL: unknown")                 \
  C(peak_reserved_bytes, Opt, "bytes", kLess, "highest total with what the allocator keeps")   \
  C(peak_active_bytes, Opt, "bytes", kLess, "highest total with what other streams still use") \
  C(peak_ns, Opt, "ns", kLabel, "when the first peak was reached, of the Unix epoch")          \
  C(alive_blocks, Int, "", kLess, "allocated while recording and not released before its end") \
  C(alive_bytes, Int, "bytes", kLess, "their sum")
SONDE_RESULT(MemorySummaryRecord, kMemorySummary, "memory_summary", SONDE_COLUMNS_MEMORY_SUMMARY,
             "what the memory of a device came to, by who manages it")

void RunMemorySummary(const DeviceView& view, store::RowSink& rows) {
  const TraceData& data = *view.data;
  for (const MemorySummaryRow& row : MemorySummary(data)) {
    const std::string device = DeviceTypeText(row.device_type, row.device_index);
    MemorySummaryRecord{data.PidOf(row.process_id),
                        device,
                        row.component,
                        row.allocations,
                        row.releases,
                        row.allocated_bytes,
                        row.released_bytes,
                        row.peak_allocated_bytes,
                        row.peak_reserved_bytes,
                        row.peak_active_bytes,
                        row.peak_ns,
                        row.alive_blocks,
                        row.alive_bytes}
        .Write(rows);
  }
}

}  // namespace

extern const Recipe kMemorySummaryRecipe;
constexpr Recipe kMemorySummaryRecipe = {
    &kMemorySummary, Reads<store::MemoryEventRow, store::MemoryBlockRow>(), &RunMemorySummary};

}  // namespace sonde::recipes
