// Slices as they were read, in blocks, so that growing copies nothing and lists of several readers
// join without a copy.
#pragma once

#include <array>
#include <cstdint>
#include <iterator>
#include <memory>
#include <vector>

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

// Places are stable numbers; they grow in the order of reading, with gaps where lists were joined.
class SliceBlocks {
 public:
  static constexpr uint32_t kShift = 12;
  static constexpr uint32_t kRows = 1U << kShift;

  void Append(const StagedSlice& slice) {
    if (blocks_.empty() || blocks_.back()->count == kRows) {
      blocks_.push_back(std::make_unique<Block>());
    }
    Block& block = *blocks_.back();
    block.rows[block.count++] = slice;
    ++count_;
  }
  void Append(SliceBlocks&& later) {
    blocks_.insert(blocks_.end(), std::make_move_iterator(later.blocks_.begin()),
                   std::make_move_iterator(later.blocks_.end()));
    count_ += later.count_;
    later = SliceBlocks();
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
      Block& block = *blocks_[i];
      for (uint32_t row = 0; row < block.count; ++row) take((i << kShift) | row, block.rows[row]);
    }
  }

 private:
  struct Block {
    uint32_t count = 0;
    std::array<StagedSlice, kRows> rows;
  };
  std::vector<std::unique_ptr<Block>> blocks_;
  size_t count_ = 0;
};

}  // namespace sonde::importers::trace_events
