#include "recipes/memory_record/memory_record.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "recipes/operator_memory/operator_memory.h"
#include "recipes/recipe.h"

namespace sonde::recipes {
namespace {

constexpr std::string_view kWorkspace = "WORKSPACE";

enum class RecordPart { kProcess, kCurve, kOther };

RecordPart PartOf(std::string_view component) {
  if (component == kProcessMemory) return RecordPart::kProcess;
  const bool is_curve =
      component == kFrameworkMemory || component == kGraphEngineMemory || component == kWorkspace;
  return is_curve ? RecordPart::kCurve : RecordPart::kOther;
}

// Of totals of which one may not be known.
int64_t RecordSum(int64_t a, int64_t b) {
  if (a < 0 || b < 0) return std::max(a, b);
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? a : sum;
}

}  // namespace

std::string_view MemoryComponent(const TraceData& data, int32_t component) {
  const std::string_view name = data.Name(component);
  return name.empty() ? kFrameworkMemory : name;
}

bool HasSum(std::string_view component) {
  return component == kFrameworkMemory || component == kGraphEngineMemory;
}

bool HasStream(std::string_view component) {
  return component != kGraphEngineMemory && component != kProcessMemory;
}

std::vector<MemoryRecordRow> MemoryRecord(const TraceData& data) {
  std::vector<MemoryRecordRow> rows(data.memory_events.size());
  struct Last {
    uint32_t framework = MemoryRecordRow::kNoEvent;
    uint32_t graph_engine = MemoryRecordRow::kNoEvent;
  };
  std::map<std::tuple<int32_t, int16_t, int16_t>, Last> devices;
  for (uint32_t i = 0; i < rows.size(); ++i) {
    const store::MemoryEventRow& event = data.memory_events[i];
    const std::string_view component = MemoryComponent(data, event.component);
    rows[i].event = i;
    const bool is_framework = component == kFrameworkMemory;
    rows[i].has_sum = HasSum(component);
    if (!rows[i].has_sum) continue;
    Last& last = devices[{event.process_id, event.device_type, event.device_index}];
    rows[i].other = is_framework ? last.graph_engine : last.framework;
    (is_framework ? last.framework : last.graph_engine) = i;
  }
  const auto part = [&](const MemoryRecordRow& row) {
    return PartOf(MemoryComponent(data, data.memory_events[row.event].component));
  };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const auto& a, const auto& b) { return part(a) < part(b); });
  return rows;
}

MemoryLine EventLine(const TraceData& data, const MemoryRecordRow& row) {
  const store::MemoryEventRow& event = data.memory_events[row.event];
  MemoryLine line{MemoryComponent(data, event.component), event.total_allocated,
                  event.total_reserved, event.total_active, std::nullopt};
  if (HasStream(line.component)) line.stream = event.stream;
  return line;
}

MemoryLine SumLine(const TraceData& data, const MemoryRecordRow& row) {
  MemoryLine line = EventLine(data, row);
  line.component = kAllMemory;
  if (row.other == MemoryRecordRow::kNoEvent) return line;
  const MemoryLine other = EventLine(data, {.event = row.other});
  line.total_allocated = RecordSum(line.total_allocated, other.total_allocated);
  line.total_reserved = RecordSum(line.total_reserved, other.total_reserved);
  line.total_active = RecordSum(line.total_active, other.total_active);
  if (!line.stream) line.stream = other.stream;
  return line;
}

namespace {

#define SONDE_COLUMNS_MEMORY_RECORD(C)                                                        \
  C(time_ns, Int, "ns", kLabel, "of the Unix epoch")                                          \
  C(device, Text, "", KeyOf("memory_device"), "CPU, NPU:0, ...")                              \
  C(size_bytes, Int, "bytes", kNeither, "allocated; negative: released")                      \
  C(total_allocated_bytes, Opt, "bytes", kLess, "afterwards; NULL: unknown")                  \
  C(total_reserved_bytes, Opt, "bytes", kLess, "afterwards, with what the allocator keeps")   \
  C(total_active_bytes, Opt, "bytes", kLess, "afterwards, with what other streams still use") \
  C(owner, Text, "", KeyOf("operator"), "operator that asked for it, may be empty")           \
  C(component, Text, "", KeyOf("component"), "who manages it: PTA, GE, APP, ...")
SONDE_RESULT(MemoryEventRecord, kMemoryRecord, "memory_record", SONDE_COLUMNS_MEMORY_RECORD,
             "an allocation or release with the totals after it")

void RunMemoryRecord(const DeviceView& view, store::RowSink& rows) {
  const TraceData& data = *view.data;
  for (const store::MemoryEventRow& event : data.memory_events) {
    if (!rows.wants_more()) return;
    const std::string device = DeviceTypeText(event.device_type, event.device_index);
    MemoryEventRecord{event.ts,
                      device,
                      event.size_bytes,
                      event.total_allocated,
                      event.total_reserved,
                      event.total_active,
                      data.Name(OwnerName(data, event.owner_slice_id)),
                      MemoryComponent(data, event.component)}
        .Write(rows);
  }
}

}  // namespace

extern const Recipe kMemoryRecordRecipe;
constexpr Recipe kMemoryRecordRecipe = {
    &kMemoryRecord, Reads<store::SliceRow, store::MemoryEventRow>(), &RunMemoryRecord};

}  // namespace sonde::recipes
