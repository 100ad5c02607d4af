// Memory curve and blocks.
#include "exporters/ascend_db/db_tables.h"
#include "recipes/operator_memory/operator_memory.h"

namespace sonde::exporters {
namespace {

using recipes::TraceData;

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

// "CPU" in the text form; the database has only numbers.
int64_t DeviceNumber(int16_t type, int16_t index) { return type == kCpuDevice ? -1 : index; }

}  // namespace

Status WriteMemoryTables(DbContext& context) {
  const TraceData& data = context.data();
  if (data.memory_events.empty()) return {};
  SONDE_ASSIGN_OR_RETURN(SqliteTable records,
                         SqliteTable::Create(context.file, "MEMORY_RECORD", kRecordColumns));
  const int64_t components[] = {context.ids.Id(StringRange::kMemory, "PTA"),
                                context.ids.Id(StringRange::kMemory, "PTA+GE")};
  for (const store::MemoryEventRow& event : data.memory_events) {
    for (const int64_t component : components) {
      records.Int(component).Int(event.ts).KnownInt(event.total_allocated);
      records.KnownInt(event.total_reserved).KnownInt(event.total_active).Int(event.stream);
      records.Int(DeviceNumber(event.device_type, event.device_index)).End();
    }
  }
  SONDE_RETURN_IF_ERROR(records.Close());
  SONDE_ASSIGN_OR_RETURN(SqliteTable blocks,
                         SqliteTable::Create(context.file, "OP_MEMORY", kBlockColumns));
  for (const recipes::OperatorMemoryRow& row : recipes::OperatorMemory(data)) {
    const store::MemoryBlockRow& block = data.memory_blocks[row.block];
    const int64_t dur_ns = block.free_ts < 0 ? -1 : block.free_ts - block.alloc_ts;
    blocks.Int(context.ids.NameId(StringRange::kMemory, row.name, data.Name(row.name)));
    blocks.Int(block.size_bytes).Int(block.alloc_ts).KnownInt(block.free_ts);
    blocks.KnownInt(block.free_ts).KnownInt(dur_ns).KnownInt(dur_ns);
    blocks.KnownInt(block.alloc_total_allocated).KnownInt(block.alloc_total_reserved);
    blocks.KnownInt(block.alloc_total_active).KnownInt(block.free_total_allocated);
    blocks.KnownInt(block.free_total_reserved).KnownInt(block.free_total_active);
    blocks.Int(block.stream).Int(DeviceNumber(block.device_type, block.device_index)).End();
  }
  return blocks.Close();
}

}  // namespace sonde::exporters
