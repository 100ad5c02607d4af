// Memory of the framework and of the vendor's allocator, and marks of the user.
#include <algorithm>

#include "base/strings.h"
#include "importers/ascend/device_types.h"
#include "importers/ascend_db/db_trace.h"
#include "importers/ascend_db/issues.h"

namespace sonde::importers::db_import {
namespace {

using base::Concat;
using base::SqliteRow;

// An unknown device is none, not the first; the host has one.
int16_t DeviceIndex(std::optional<int64_t> device) {
  return device ? static_cast<int16_t>(std::clamp<int64_t>(*device, 0, INT16_MAX)) : int16_t{-1};
}

int16_t DeviceType(std::optional<int64_t> device) {
  return device.value_or(0) < 0 ? kCpuType : kNpuType;
}

void ReadBlocks(DbTrace& trace) {
  if (!trace.Has("OP_MEMORY", {"name", "size", "allocationTime"})) return;
  const int32_t framework = trace.rows.names.Intern("PTA");
  const int32_t graph_engine = trace.rows.names.Intern("GE");
  trace.Read("OP_MEMORY",
             {"name", "size", "allocationTime", "releaseTime", "activeReleaseTime",
              "allocationTotalAllocated", "allocationTotalReserved", "allocationTotalActive",
              "releaseTotalAllocated", "releaseTotalReserved", "releaseTotalActive", "streamPtr",
              "deviceId"},
             [&](const SqliteRow& row) {
               const auto size = row.Int(1);
               const auto alloc = row.Int(2);
               if (!size || !alloc) return trace.WrongType("OP_MEMORY");
               const auto bytes = [&](int column) { return trace.Size(row, column, "OP_MEMORY"); };
               store::MemoryBlockRow block;
               block.process_id = trace.MainProcess();
               block.device_type = DeviceType(row.Int(12));
               block.device_index = DeviceIndex(row.Int(12));
               block.size_bytes = bytes(1);
               block.alloc_ts = *alloc;
               block.free_ts = row.Int(3).value_or(-1);
               block.active_free_ts = row.Int(4).value_or(-1);
               block.alloc_total_allocated = bytes(5);
               block.alloc_total_reserved = bytes(6);
               block.alloc_total_active = bytes(7);
               block.free_total_allocated = bytes(8);
               block.free_total_reserved = bytes(9);
               block.free_total_active = bytes(10);
               block.stream = row.Int(11).value_or(0);
               block.name = trace.Text(row, 0);
               // Only the framework knows streams and active memory.
               block.component = row.IsNull(11) ? graph_engine : framework;
               trace.rows.memory_blocks.push_back(block);
             });
}

// The curve. Each row has the totals; the change against the row before is the size of the event.
void ReadCurve(DbTrace& trace) {
  if (!trace.Has("MEMORY_RECORD", {"component", "timestamp", "totalAllocated"})) return;
  std::map<std::pair<int32_t, int64_t>, int64_t> last;  // by component and device
  trace.Read("MEMORY_RECORD",
             {"component", "timestamp", "totalAllocated", "totalReserved", "totalActive",
              "streamPtr", "deviceId"},
             [&](const SqliteRow& row) {
               const auto ts = row.Int(1);
               if (!ts) return trace.WrongType("MEMORY_RECORD");
               if (trace.TextView(row, 0) == "PTA+GE") return;  // the sum of two others
               const auto bytes = [&](int column) {
                 return trace.Size(row, column, "MEMORY_RECORD");
               };
               store::MemoryEventRow event;
               event.ts = *ts;
               event.process_id = trace.MainProcess();
               event.device_type = DeviceType(row.Int(6));
               event.device_index = DeviceIndex(row.Int(6));
               event.total_allocated = bytes(2);
               event.total_reserved = bytes(3);
               event.total_active = bytes(4);
               event.stream = row.Int(5).value_or(0);
               event.component = trace.Text(row, 0);
               if (event.total_allocated >= 0) {
                 const std::pair key(event.component, row.Int(6).value_or(-1));
                 int64_t& before = last.try_emplace(key, event.total_allocated).first->second;
                 event.size_bytes = Change(event.total_allocated, before);
                 before = event.total_allocated;
               }
               trace.rows.memory_events.push_back(event);
             });
}

// Allocations and releases of the graph engine, event by event, from databases of the device tool
// alone: the framework's layer makes the blocks and the curve above from them.
class GraphMemory {
 public:
  explicit GraphMemory(DbTrace& trace)
      : trace_(trace),
        with_blocks_(trace.rows.memory_blocks.empty()),
        with_events_(trace.rows.memory_events.empty()) {}

  void Read() {
    if (!trace_.reader.HasTable(kTable) || !trace_.Has(kTable, {"type", "size", "timestampNs"}))
      return;
    trace_.Read(kTable,
                {"operatorName", "addr", "type", "size", "timestampNs", "globalTid",
                 "totalAllocate", "totalReserve", "component", "deviceId"},
                [this](const SqliteRow& row) { Take(row); });
  }

 private:
  static constexpr const char* kTable = "NPU_OP_MEM";
  enum class Kind : uint8_t { kAllocation, kRelease, kUnknown };

  void Take(const SqliteRow& row) {
    const auto ts = row.Int(4);
    if (!ts) return trace_.WrongType(kTable);
    if (trace_.TextView(row, 8) == "PTA+GE") return;  // the sum of two others
    const int64_t size = trace_.Size(row, 3, kTable);
    const Kind kind = KindOf(row);
    const int64_t allocated = trace_.Size(row, 6, kTable);
    const int64_t reserved = trace_.Size(row, 7, kTable);
    if (with_events_) {
      store::MemoryEventRow event;
      event.ts = *ts;
      event.process_id = trace_.MainProcess();
      event.device_type = DeviceType(row.Int(9));
      event.device_index = DeviceIndex(row.Int(9));
      event.pointer = row.Int(1).value_or(0);
      if (size > 0 && kind == Kind::kAllocation) event.size_bytes = size;
      if (size > 0 && kind == Kind::kRelease) event.size_bytes = -size;
      event.total_allocated = allocated;
      event.total_reserved = reserved;
      event.component = trace_.Text(row, 8);
      if (const auto tid = row.Int(5)) event.thread_id = trace_.Thread(*tid);
      trace_.rows.memory_events.push_back(event);
    }
    if (!with_blocks_ || kind == Kind::kUnknown) return;
    store::MemoryBlockRow& block = BlockOf(row, kind);
    block.size_bytes = size;
    if (kind == Kind::kAllocation) {
      block.alloc_ts = *ts;
      block.alloc_total_allocated = allocated;
      block.alloc_total_reserved = reserved;
    } else {
      block.free_ts = *ts;
      block.free_total_allocated = allocated;
      block.free_total_reserved = reserved;
    }
  }

  Kind KindOf(const SqliteRow& row) {
    // Databases of 2024 have a table of these words.
    const int32_t word = trace_.reader.HasTable("ENUM_MEMORY")
                             ? trace_.Enum("ENUM_MEMORY", row.Int(2))
                             : trace_.Text(row, 2);
    const std::string_view type =
        word == store::kNone ? std::string_view() : trace_.rows.names.Text(word);
    if (type == "allocate") return Kind::kAllocation;
    if (type == "release") return Kind::kRelease;
    trace_.BadValue(kTable);
    return Kind::kUnknown;
  }

  // A release ends the last block at its address; one without any was allocated before.
  store::MemoryBlockRow& BlockOf(const SqliteRow& row, Kind kind) {
    auto& blocks = trace_.rows.memory_blocks;
    const std::pair place(row.Int(9).value_or(-1), row.Int(1).value_or(0));
    if (kind == Kind::kRelease) {
      const auto found = open_.find(place);
      if (found != open_.end()) {
        store::MemoryBlockRow& block = blocks[found->second];
        open_.erase(found);
        return block;
      }
    } else {
      open_[place] = blocks.size();
    }
    store::MemoryBlockRow block;
    block.process_id = trace_.MainProcess();
    block.device_type = DeviceType(row.Int(9));
    block.device_index = DeviceIndex(row.Int(9));
    block.pointer = place.second;
    block.name = trace_.Text(row, 0);
    block.component = trace_.Text(row, 8);
    blocks.push_back(block);
    return blocks.back();
  }

  DbTrace& trace_;
  bool with_blocks_;
  bool with_events_;
  std::map<std::pair<int64_t, int64_t>, size_t> open_;  // device, address -> block
};

}  // namespace

void ReadMemory(DbTrace& trace) {
  ReadBlocks(trace);
  ReadCurve(trace);
  GraphMemory(trace).Read();
}

void ReadMarks(DbTrace& trace) {
  if (!trace.Has("MSTX_EVENTS", {"startNs", "endNs", "globalTid", "message"})) return;
  TraceRows& rows = trace.rows;
  const int32_t category = rows.names.Intern("range");
  const int32_t kinds[] = {rows.names.Intern("marker"), rows.names.Intern("push_pop"),
                           rows.names.Intern("start_end"), rows.names.Intern("marker")};
  trace.Read("MSTX_EVENTS",
             {"startNs", "endNs", "eventType", "message", "globalTid", "endGlobalTid", "domainId"},
             [&](const SqliteRow& row) {
               const auto begin = row.Int(0);
               const auto end = row.Int(1);
               const auto tid = row.Int(4);
               if (!begin || !end || !tid) return trace.WrongType("MSTX_EVENTS");
               const int64_t type = std::clamp<int64_t>(row.Int(2).value_or(0), 0, 3);
               const int32_t thread = trace.Thread(*tid);
               store::MarkRow mark;
               mark.ts = *begin;
               mark.track_id = rows.ThreadTrack(capture::TrackKind::kMark, thread);
               mark.domain = trace.Text(row, 6);
               if (mark.domain == store::kNone) mark.domain = rows.names.Intern("default");
               mark.message = trace.Text(row, 3);
               mark.kind = kinds[type];
               if (type == 1 || type == 2) {
                 mark.slice_id = rows.AddSlice(mark.track_id, *begin, SpanNs(*begin, *end),
                                               mark.message, category);
                 mark.dur = rows.slices.back().dur;
               }
               const auto end_tid = row.Int(5);
               if (end_tid && *end_tid != *tid && *end_tid > 0) {
                 mark.end_thread_id = trace.Thread(*end_tid);
               }
               rows.marks.push_back(mark);
             });
}

}  // namespace sonde::importers::db_import
