#include <algorithm>

#include "compare/frame/side.h"

namespace sonde::compare {
namespace {

using recipes::TraceData;

struct QueuePair {
  int64_t begin_ns = 0;  // of the dequeue
  int64_t end_ns = 0;
  int64_t enqueue_ns = 0;
};

// Ranges in which a queue worked off what the host had put into it.
std::vector<QueuePair> QueuePairs(const TraceData& data) {
  std::vector<QueuePair> pairs;
  for (const store::FlowRow& flow : data.flows) {
    if (data.Name(flow.kind) != "enqueue_dequeue") continue;
    if (flow.slice_out < 0 || flow.slice_in < 0) continue;
    const store::SliceRow& in = data.Slice(flow.slice_in);
    pairs.push_back({in.ts, data.EndNs(in), data.Slice(flow.slice_out).ts});
  }
  std::sort(pairs.begin(), pairs.end(),
            [](const QueuePair& a, const QueuePair& b) { return a.begin_ns < b.begin_ns; });
  return pairs;
}

// When the host requested the queue's allocation of this moment; kNone outside all.
int64_t EnqueuedAt(const std::vector<QueuePair>& pairs, int64_t ts) {
  const auto after = std::upper_bound(
      pairs.begin(), pairs.end(), ts,
      [](int64_t moment, const QueuePair& pair) { return moment < pair.begin_ns; });
  if (after == pairs.begin()) return kNone;
  const QueuePair& pair = *std::prev(after);
  return ts <= pair.end_ns ? pair.enqueue_ns : kNone;
}

void Index(Side& side) {
  side.blocks_begin.assign(side.ops.size() + 1, 0);
  for (const MemoryBlock& block : side.blocks) {
    if (block.op != kNone) ++side.blocks_begin[static_cast<size_t>(block.op) + 1];
  }
  for (size_t i = 0; i < side.ops.size(); ++i) side.blocks_begin[i + 1] += side.blocks_begin[i];
  side.blocks_by_op.resize(side.blocks_begin.back());
  std::vector<uint32_t> next = side.blocks_begin;
  for (size_t i = 0; i < side.blocks.size(); ++i) {
    const int32_t op = side.blocks[i].op;
    if (op != kNone) {
      side.blocks_by_op[next[static_cast<size_t>(op)]++] = static_cast<uint32_t>(i);
    }
  }
}

}  // namespace

void TakeMemory(const TraceData& data, Side& side) {
  const std::vector<QueuePair> pairs = QueuePairs(data);
  for (const store::MemoryBlockRow& row : data.memory_blocks) {
    // The host's own memory counts where the host is the device.
    const bool is_host = row.device_type == 0;
    if (row.alloc_ts < 0 || is_host != (side.kind == SideKind::kCpu)) continue;
    if (!side.window.Has(row.alloc_ts)) continue;
    MemoryBlock block{
        .size_bytes = row.size_bytes, .alloc_ns = row.alloc_ts, .free_ns = row.free_ts};
    int64_t moment = row.alloc_ts;
    if (data.Name(row.name).find("cann::") != std::string_view::npos) {
      moment = EnqueuedAt(pairs, row.alloc_ts);
      if (moment == kNone) {
        block.owner = row.name;
        side.blocks_without_call.push_back(block);
        continue;
      }
      if (side.kind == SideKind::kNpuText) block.owner = row.name;
    }
    block.asked_ns = moment;
    block.op = OpAtMoment(side, moment);
    side.blocks.push_back(block);
  }
  // Databases list blocks by their release.
  if (side.kind == SideKind::kNpuDb) {
    std::stable_sort(side.blocks.begin(), side.blocks.end(),
                     [](const auto& a, const auto& b) { return a.free_ns < b.free_ns; });
  }
  std::stable_sort(side.blocks.begin(), side.blocks.end(),
                   [](const auto& a, const auto& b) { return a.asked_ns < b.asked_ns; });
  Index(side);
  for (const store::MemoryEventRow& event : data.memory_events) {
    if ((event.device_type == 0) != (side.kind == SideKind::kCpu)) continue;
    if (side.window.Has(event.ts)) {
      side.reserved_bytes = std::max(side.reserved_bytes, event.total_reserved);
    }
  }
}

}  // namespace sonde::compare
