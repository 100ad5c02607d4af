// The framework's allocators: the curve of their totals, and the life of each block.
#include <algorithm>
#include <array>

#include "importers/ascend/device_types.h"
#include "importers/ascend_raw/framework.h"
#include "importers/ascend_raw/issues.h"

namespace sonde::importers::raw {
namespace {

constexpr uint8_t kWorkspace = 1;
constexpr uint8_t kExternal = 1;

}  // namespace

void FrameworkLayer::AddMemory() {
  const auto at = [](const Memory& memory) { return std::pair(memory.ts, memory.order); };
  std::sort(memory_.begin(), memory_.end(),
            [&](const Memory& a, const Memory& b) { return at(a) < at(b); });
  for (const Memory& memory : memory_) AddEvent(memory);
  const auto place = [](const Memory& memory) {
    return std::pair(memory.use.pid, memory.use.pointer);
  };
  std::sort(memory_.begin(), memory_.end(), [&](const Memory& a, const Memory& b) {
    return std::pair(place(a), at(a)) < std::pair(place(b), at(b));
  });
  std::vector<const Memory*> of_pointer;
  for (size_t i = 0; i < memory_.size();) {
    const auto pointer = place(memory_[i]);
    of_pointer.clear();
    for (; i < memory_.size() && place(memory_[i]) == pointer; ++i) {
      const MemoryUse& use = memory_[i].use;
      if (use.device_type == kNpuType && use.allocator != kExternal)
        of_pointer.push_back(&memory_[i]);
    }
    AddBlocks(of_pointer);
  }
  std::stable_sort(rows_.memory_blocks.begin(), rows_.memory_blocks.end(),
                   [](const auto& a, const auto& b) { return a.alloc_ts < b.alloc_ts; });
}

void FrameworkLayer::AddEvent(const Memory& memory) {
  const MemoryUse& use = memory.use;
  store::MemoryEventRow event;
  event.ts = memory.ts;
  event.thread_id = Thread(use.pid, use.tid);
  event.process_id = rows_.Process(static_cast<int64_t>(use.pid));
  event.device_type = use.device_type;
  event.device_index = use.device_index;
  event.pointer = use.pointer;
  // A block that waited for its streams was counted when it was freed.
  event.size_bytes = use.kind == MemoryUse::kBlockFree ? 0 : use.size;
  event.total_allocated = std::max<int64_t>(use.total_allocated, -1);
  event.total_reserved = std::max<int64_t>(use.total_reserved, -1);
  event.total_active = std::max<int64_t>(use.total_active, -1);
  event.stream = use.stream;
  event.owner_slice_id = OperatorAt(static_cast<int64_t>(use.tid), memory.ts);
  event.component = rows_.names.Intern(use.component == kWorkspace ? "WORKSPACE" : "PTA");
  rows_.memory_events.push_back(event);
}

// A life: an allocation and behind it at most one release of each kind.
void FrameworkLayer::AddBlocks(const std::vector<const Memory*>& of_pointer) {
  std::vector<const Memory*> life;
  std::array<bool, 3> seen = {};
  const auto end_life = [&] {
    if (!life.empty()) AddBlock(life);
    life.clear();
    seen = {};
  };
  for (const Memory* memory : of_pointer) {
    const uint8_t kind = memory->use.kind;
    if (kind > MemoryUse::kBlockFree) {
      rows_.issues.Add(kBadRecord, "torch.memory_usage");
      continue;
    }
    if (kind == MemoryUse::kMalloc || seen.at(kind)) end_life();
    if (life.empty() && kind != MemoryUse::kMalloc) continue;  // allocated before recording began
    seen.at(kind) = true;
    life.push_back(memory);
  }
  end_life();
}

void FrameworkLayer::AddBlock(const std::vector<const Memory*>& life) {
  const MemoryUse& use = life.front()->use;
  store::MemoryBlockRow block;
  block.process_id = rows_.Process(static_cast<int64_t>(use.pid));
  block.device_type = use.device_type;
  block.device_index = use.device_index;
  block.pointer = use.pointer;
  block.size_bytes = use.size;
  block.alloc_ts = life.front()->ts;
  block.alloc_total_allocated = use.total_allocated;
  block.alloc_total_reserved = use.total_reserved;
  block.alloc_total_active = use.total_active;
  block.stream = use.stream;
  block.name = OwnerName(*life.front());
  block.component = rows_.names.Intern(use.component == kWorkspace ? "WORKSPACE" : "PTA");
  const MemoryUse* totals = nullptr;
  for (const Memory* memory : life) {
    const bool is_free = memory->use.kind == MemoryUse::kFree;
    if (memory->use.kind == MemoryUse::kMalloc) continue;
    (is_free ? block.free_ts : block.active_free_ts) = memory->ts;
    if (totals == nullptr || is_free) totals = &memory->use;
  }
  if (totals != nullptr) {
    block.free_total_allocated = totals->total_allocated;
    block.free_total_reserved = totals->total_reserved;
    block.free_total_active = totals->total_active;
  }
  rows_.memory_blocks.push_back(block);
}

// Over the queue the nearest operator of a library, else any open one that is no helper.
int32_t FrameworkLayer::OwnerName(const Memory& memory) const {
  const auto name_of = [&](int32_t slice) { return rows_.slices[static_cast<size_t>(slice)].name; };
  const auto tid = static_cast<int64_t>(memory.use.tid);
  const auto asked = AskedAt(tid, memory.ts);
  if (!asked) return store::kNone;
  const bool is_queued = dequeued_.contains(tid);
  const int32_t slice = ops_.Innermost(asked->first, asked->second, [&](int32_t open) {
    const std::string_view name = rows_.names.Text(name_of(open));
    if (!is_queued) return name != "empty_tensor" && name != "malloc_workspace";
    return name.starts_with("aten::") || name.starts_with("npu::") || name.starts_with("atb::");
  });
  return slice == store::kNone ? store::kNone : name_of(slice);
}

}  // namespace sonde::importers::raw
