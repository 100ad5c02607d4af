// "[memory]" instants: events in the order of time, and the blocks that they begin and end.
#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "importers/kineto/trace.h"
#include "store/table_writer.h"

namespace sonde::importers::kineto {
namespace {

using store::MemoryBlockRow;
using store::MemoryEventRow;
using trace_events::InstantEvent;

int16_t Small(std::optional<int64_t> value) {
  return value && *value >= 0 && *value <= INT16_MAX ? static_cast<int16_t>(*value) : int16_t{0};
}

MemoryEventRow RowOf(const KinetoTrace& trace, const InstantEvent& instant) {
  const trace_events::EventStage& stage = trace.stage();
  const auto thread = static_cast<size_t>(instant.thread);
  MemoryEventRow row;
  row.ts = instant.ts;
  row.process_id =
      stage.arrangement().process_ids[static_cast<size_t>(stage.tracks().threads[thread].process)];
  const auto arguments = stage.CapturedOf(instant);
  row.device_type = Small(arguments.Get(kMemoryDeviceType));
  row.device_index = Small(arguments.Get(kMemoryDeviceId));
  row.pointer = arguments.Get(kAddress).value_or(0);
  row.size_bytes = arguments.Get(kBytes).value_or(0);
  row.total_allocated = arguments.Get(kTotalAllocated).value_or(store::kNone);
  row.total_reserved = arguments.Get(kTotalReserved).value_or(store::kNone);
  row.thread_id = stage.arrangement().thread_ids[thread];
  row.owner_slice_id = trace.OpAround(instant.slice);
  return row;
}

class Blocks {
 public:
  void Take(const MemoryEventRow& event) {
    const auto key = std::tuple(event.device_type, event.device_index, event.pointer);
    if (event.size_bytes >= 0) {
      alive_[key] = rows_.size();
      MemoryBlockRow row = NewRow(event);
      row.size_bytes = event.size_bytes;
      row.alloc_ts = event.ts;
      row.owner_slice_id = event.owner_slice_id;
      row.alloc_total_allocated = event.total_allocated;
      row.alloc_total_reserved = event.total_reserved;
      rows_.push_back(row);
      return;
    }
    size_t index = rows_.size();
    const auto found = alive_.find(key);
    if (found == alive_.end()) {  // allocated before recording began
      rows_.push_back(NewRow(event));
      rows_.back().size_bytes = static_cast<int64_t>(-static_cast<uint64_t>(event.size_bytes));
    } else {
      index = found->second;
      alive_.erase(found);
    }
    rows_[index].free_ts = event.ts;
    rows_[index].free_total_allocated = event.total_allocated;
    rows_[index].free_total_reserved = event.total_reserved;
  }

  const std::vector<MemoryBlockRow>& rows() const { return rows_; }

 private:
  static MemoryBlockRow NewRow(const MemoryEventRow& event) {
    MemoryBlockRow row;
    row.process_id = event.process_id;
    row.device_type = event.device_type;
    row.device_index = event.device_index;
    row.pointer = event.pointer;
    return row;
  }

  std::map<std::tuple<int16_t, int16_t, int64_t>, size_t> alive_;
  std::vector<MemoryBlockRow> rows_;
};

}  // namespace

Result<int64_t> WriteMemory(const KinetoTrace& trace, store::Transaction& transaction) {
  std::vector<const InstantEvent*> instants;
  trace.stage().instants().ForEach([&](uint32_t, const InstantEvent& instant) {
    if (instant.taken && !instant.left_out) instants.push_back(&instant);
  });
  std::stable_sort(instants.begin(), instants.end(),
                   [](const InstantEvent* a, const InstantEvent* b) { return a->ts < b->ts; });
  SONDE_ASSIGN_OR_RETURN(auto writer, store::TableWriter<MemoryEventRow>::Open(transaction));
  Blocks blocks;
  for (const InstantEvent* instant : instants) {
    const MemoryEventRow row = RowOf(trace, *instant);
    writer.Append(row);
    blocks.Take(row);
  }
  SONDE_RETURN_IF_ERROR(writer.Close());
  SONDE_ASSIGN_OR_RETURN(auto block_writer, store::TableWriter<MemoryBlockRow>::Open(transaction));
  for (const MemoryBlockRow& row : blocks.rows()) block_writer.Append(row);
  SONDE_RETURN_IF_ERROR(block_writer.Close());
  return static_cast<int64_t>(instants.size());
}

}  // namespace sonde::importers::kineto
