// Memory: events in the order of time, and the blocks that they begin and end.
#include <algorithm>
#include <unordered_map>

#include "base/hash.h"
#include "importers/capture/issues.h"
#include "importers/capture/trace.h"
#include "store/table_writer.h"

namespace sonde::importers::capture_import {
namespace {

using store::MemoryBlockRow;
using store::MemoryEventRow;

struct Event {
  const MemoryInstant* instant;
  int32_t thread_id;
  int32_t owner_slice;
};

std::vector<Event> EventsInOrder(const CaptureTrace& trace) {
  std::vector<Event> events;
  size_t count = 0;
  for (const ThreadStage& stage : trace.stages) count += stage.memory.size();
  events.reserve(count);
  for (const ThreadStage& stage : trace.stages) {
    for (const MemoryInstant& instant : stage.memory) {
      const int32_t owner =
          instant.node == kNoNode ? store::kNone : trace.NodeOf(stage, instant.node).slice_id;
      events.push_back({&instant, stage.thread_id, owner});
    }
  }
  const auto by_time = [](const Event& a, const Event& b) { return a.instant->ts < b.instant->ts; };
  if (!std::is_sorted(events.begin(), events.end(), by_time)) {
    std::stable_sort(events.begin(), events.end(), by_time);
  }
  return events;
}

struct BlockKey {
  uint64_t pointer;
  uint32_t device;
  bool operator==(const BlockKey&) const = default;
};
struct BlockKeyHash {
  size_t operator()(const BlockKey& key) const {
    return base::HashCombine(key.pointer, key.device);
  }
};

class BlockTable {
 public:
  // events: how many will come; most blocks have two.
  BlockTable(store::ImportIssues& issues, size_t events) : issues_(issues) {
    rows_.reserve(events / 2 + 1);
  }

  void Take(const Event& event) {
    const MemoryInstant& instant = *event.instant;
    const BlockKey key{instant.pointer, static_cast<uint32_t>(instant.device_type << 8) |
                                            static_cast<uint32_t>(instant.device_index)};
    if (instant.size_bytes >= 0) {
      Allocate(key, event);
    } else {
      Release(key, event);
    }
  }

  std::vector<MemoryBlockRow>& rows() { return rows_; }

 private:
  static MemoryBlockRow NewRow(const MemoryInstant& instant) {
    MemoryBlockRow row;
    row.process_id = kProcessId;
    row.device_type = instant.device_type;
    row.device_index = instant.device_index;
    row.pointer = static_cast<int64_t>(instant.pointer);
    row.stream = static_cast<int64_t>(instant.tail.stream);
    return row;
  }

  void Allocate(const BlockKey& key, const Event& event) {
    const MemoryInstant& instant = *event.instant;
    const auto [place, is_new] = alive_.try_emplace(key, rows_.size());
    if (!is_new) {
      issues_.Add(kLostRelease, "");
      place->second = rows_.size();
    }
    MemoryBlockRow row = NewRow(instant);
    row.size_bytes = instant.size_bytes;
    row.alloc_ts = instant.ts;
    row.owner_slice_id = event.owner_slice;
    row.alloc_total_allocated = instant.tail.total_allocated;
    row.alloc_total_reserved = instant.tail.total_reserved;
    row.alloc_total_active = instant.tail.total_active;
    rows_.push_back(row);
  }

  void Release(const BlockKey& key, const Event& event) {
    const MemoryInstant& instant = *event.instant;
    const auto found = alive_.find(key);
    size_t index = rows_.size();
    if (found == alive_.end()) {
      issues_.Add(kUnpairedRelease, "");
      rows_.push_back(NewRow(instant));
      rows_.back().size_bytes = Negated(instant.size_bytes);
    } else {
      index = found->second;
      alive_.erase(found);
    }
    MemoryBlockRow& row = rows_[index];
    row.free_ts = instant.ts;
    row.free_total_allocated = instant.tail.total_allocated;
    row.free_total_reserved = instant.tail.total_reserved;
    row.free_total_active = instant.tail.total_active;
  }

  static int64_t Negated(int64_t size) { return size == INT64_MIN ? INT64_MAX : -size; }

  store::ImportIssues& issues_;
  std::vector<MemoryBlockRow> rows_;
  std::unordered_map<BlockKey, size_t, BlockKeyHash> alive_;
};

}  // namespace

Result<int64_t> WriteMemory(CaptureTrace& trace, store::Transaction& transaction) {
  const std::vector<Event> events = EventsInOrder(trace);
  BlockTable blocks(trace.issues, events.size());
  SONDE_ASSIGN_OR_RETURN(auto writer, store::TableWriter<MemoryEventRow>::Open(transaction));
  for (const Event& event : events) {
    const MemoryInstant& instant = *event.instant;
    MemoryEventRow row;
    row.ts = instant.ts;
    row.process_id = kProcessId;
    row.device_type = instant.device_type;
    row.device_index = instant.device_index;
    row.pointer = static_cast<int64_t>(instant.pointer);
    row.size_bytes = instant.size_bytes;
    row.total_allocated = instant.tail.total_allocated;
    row.total_reserved = instant.tail.total_reserved;
    row.total_active = instant.tail.total_active;
    row.stream = static_cast<int64_t>(instant.tail.stream);
    row.thread_id = event.thread_id;
    row.owner_slice_id = event.owner_slice;
    writer.Append(row);
    blocks.Take(event);
  }
  SONDE_RETURN_IF_ERROR(writer.Close());
  SONDE_ASSIGN_OR_RETURN(auto block_writer, store::TableWriter<MemoryBlockRow>::Open(transaction));
  for (const MemoryBlockRow& row : blocks.rows()) block_writer.Append(row);
  SONDE_RETURN_IF_ERROR(block_writer.Close());
  return static_cast<int64_t>(events.size());
}

}  // namespace sonde::importers::capture_import
