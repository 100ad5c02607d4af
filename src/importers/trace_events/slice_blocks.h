// Slices as they were read, in blocks, so that growing copies nothing and lists of several readers
// join without a copy. The blocks belong to an arena that all lists of an import share.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "base/host/spill.h"

namespace sonde::importers::trace_events {

struct StagedSlice {
  int64_t ts;   // ns
  int64_t dur;  // ns, -1 unfinished
  int32_t track;
  int32_t name;
  int32_t category;
  int32_t args_id;
  int32_t captured;
  uint32_t reader;  // whose captured values
};

struct SliceBlock {
  static constexpr uint32_t kShift = 12;
  static constexpr uint32_t kRows = 1U << kShift;
  SliceBlock() {}  // with "= default" a new block would be filled with zeros
  uint32_t count = 0;
  std::array<StagedSlice, kRows> rows;
};

class SliceArena {
 public:
  explicit SliceArena(base::SpillPool* pool) : pool_(pool) {}
  // Any thread. Valid for the life of the arena.
  SliceBlock* New() {
    const std::lock_guard lock(mutex_);
    if (slabs_.empty() || slabs_.back().size() == kBlocks) {
      slabs_.emplace_back(base::SpillAllocator<SliceBlock>(pool_)).reserve(kBlocks);
    }
    return &slabs_.back().emplace_back();
  }

 private:
  static constexpr size_t kBlocks = 50;  // just below 8 MB
  base::SpillPool* pool_;
  std::mutex mutex_;
  std::vector<base::SpillVector<SliceBlock>> slabs_;
};

// Places are stable numbers; they grow in the order of reading, with gaps where lists were joined.
class SliceBlocks {
 public:
  static constexpr uint32_t kShift = SliceBlock::kShift;
  static constexpr uint32_t kRows = SliceBlock::kRows;

  explicit SliceBlocks(SliceArena* arena) : arena_(arena) {}

  void Append(const StagedSlice& slice) {
    if (blocks_.empty() || blocks_.back()->count == kRows) blocks_.push_back(arena_->New());
    SliceBlock& block = *blocks_.back();
    block.rows[block.count++] = slice;
    ++count_;
  }
  void Append(SliceBlocks&& later) {
    blocks_.insert(blocks_.end(), later.blocks_.begin(), later.blocks_.end());
    count_ += std::exchange(later.count_, 0);
    later.blocks_.clear();
  }

  size_t size() const { return count_; }
  StagedSlice& operator[](uint32_t place) {
    return blocks_[place >> kShift]->rows[place & (kRows - 1)];
  }
  const StagedSlice& operator[](uint32_t place) const {
    return blocks_[place >> kShift]->rows[place & (kRows - 1)];
  }
  // Calls take(place, slice) for all, in order.
  template <class Take>
  void ForEach(Take&& take) {
    for (uint32_t i = 0; i < blocks_.size(); ++i) {
      SliceBlock& block = *blocks_[i];
      for (uint32_t row = 0; row < block.count; ++row) take((i << kShift) | row, block.rows[row]);
    }
  }

 private:
  SliceArena* arena_;
  std::vector<SliceBlock*> blocks_;
  size_t count_ = 0;
};

}  // namespace sonde::importers::trace_events
