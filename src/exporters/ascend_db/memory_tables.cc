// Memory curve and blocks.
#include <optional>

#include "exporters/ascend_db/db_tables.h"
#include "recipes/memory_record/memory_record.h"
#include "recipes/operator_memory/operator_memory.h"

namespace sonde::exporters {
namespace {

using recipes::TraceData;
using report::SqliteTable;

constexpr std::string_view kRecordColumns =
    "component INTEGER, timestamp INTEGER, totalAllocated INTEGER, totalReserved INTEGER, "
    "totalActive INTEGER, streamPtr INTEGER, deviceId INTEGER";
constexpr std::string_view kBlockColumns =
    "name INTEGER, size INTEGER, allocationTime INTEGER, releaseTime INTEGER, "
    "activeReleaseTime INTEGER, duration INTEGER, activeDuration INTEGER, "
    "allocationTotalAllocated INTEGER, allocationTotalReserved INTEGER, "
    "allocationTotalActive INTEGER, releaseTotalAllocated INTEGER, releaseTotalReserved INTEGER, "
    "releaseTotalActive INTEGER, streamPtr INTEGER, deviceId INTEGER";
constexpr int16_t kCpuDevice = 0;

// "CPU" in the text form; the database has only numbers. None where the device is not known.
std::optional<int64_t> DeviceNumber(int16_t type, int16_t index) {
  if (type == kCpuDevice) return -1;
  return index < 0 ? std::nullopt : std::optional<int64_t>(index);
}

void AddLine(DbContext& context, const recipes::MemoryRecordRow& row,
             const recipes::MemoryLine& line, SqliteTable& table) {
  const store::MemoryEventRow& event = context.data().memory_events[row.event];
  table.Int(context.ids.Id(StringRange::kMemory, line.component)).Int(event.ts);
  table.KnownInt(line.total_allocated).KnownInt(line.total_reserved).KnownInt(line.total_active);
  table.OptionalInt(line.stream)
      .OptionalInt(DeviceNumber(event.device_type, event.device_index))
      .End();
}

// Text files put the layer before the operators of the graph engine, databases do not.
std::string_view OwnerText(const TraceData& data, const recipes::OperatorMemoryRow& row) {
  std::string_view name = data.Name(row.name);
  constexpr std::string_view kLayer = "cann::";
  if (row.is_graph_engine && name.starts_with(kLayer)) name.remove_prefix(kLayer.size());
  return name;
}

}  // namespace

Status WriteMemoryTables(DbContext& context) {
  const TraceData& data = context.data();
  if (data.memory_events.empty()) return {};
  SONDE_ASSIGN_OR_RETURN(SqliteTable records,
                         SqliteTable::Create(context.file, "MEMORY_RECORD", kRecordColumns));
  for (const recipes::MemoryRecordRow& row : recipes::MemoryRecord(data)) {
    AddLine(context, row, recipes::EventLine(data, row), records);
    if (row.has_sum) AddLine(context, row, recipes::SumLine(data, row), records);
  }
  SONDE_RETURN_IF_ERROR(records.Close());
  SONDE_ASSIGN_OR_RETURN(SqliteTable blocks,
                         SqliteTable::Create(context.file, "OP_MEMORY", kBlockColumns));
  for (const recipes::OperatorMemoryRow& row : recipes::OperatorMemory(data)) {
    const store::MemoryBlockRow& block = data.memory_blocks[row.block];
    blocks.Int(context.ids.Id(StringRange::kMemory, OwnerText(data, row)));
    blocks.Int(block.size_bytes).Int(block.alloc_ts).KnownInt(block.free_ts);
    blocks.KnownInt(row.active_free_ts).KnownInt(recipes::LifeNs(block, block.free_ts));
    blocks.KnownInt(recipes::LifeNs(block, row.active_free_ts));
    blocks.KnownInt(block.alloc_total_allocated).KnownInt(block.alloc_total_reserved);
    blocks.KnownInt(block.alloc_total_active).KnownInt(block.free_total_allocated);
    blocks.KnownInt(block.free_total_reserved).KnownInt(block.free_total_active);
    blocks.OptionalInt(row.is_graph_engine ? std::nullopt : std::optional(block.stream));
    blocks.OptionalInt(DeviceNumber(block.device_type, block.device_index)).End();
  }
  return blocks.Close();
}

}  // namespace sonde::exporters
