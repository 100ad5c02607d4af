// Events as they were read, in blocks, so that growing copies nothing and lists of several readers
// join without a copy. The blocks belong to an arena that all lists of an import share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/host/spill.h"

namespace sonde::importers::trace_events {

// Any thread.
class BlockArena {
 public:
  static constexpr size_t kBlockBytes = size_t{32} << 10U;

  explicit BlockArena(base::SpillPool* pool) : pool_(pool) {}
  // To be called at each block of a walk.
  void Relieve(size_t block) const {
    constexpr size_t kBlocksARound = 64;
    if (block % kBlocksARound == 0 && pool_ != nullptr) pool_->Relieve();
  }
  // Not filled with anything. Valid for the life of the arena.
  void* New() {
    const std::lock_guard lock(mutex_);
    if (slabs_.empty() || slabs_.back().size() == kSlabBlocks) {
      slabs_.emplace_back(base::SpillAllocator<Block>(pool_)).reserve(kSlabBlocks);
    }
    return slabs_.back().emplace_back().bytes;
  }

 private:
  struct Block {
    Block() {}  // with "= default" a new block would be filled with zeros
    alignas(std::max_align_t) std::byte bytes[kBlockBytes];
  };
  static constexpr size_t kSlabBlocks = 256;  // 8 MB
  base::SpillPool* pool_;
  std::mutex mutex_;
  std::vector<base::SpillVector<Block>> slabs_;
};

// Places are stable numbers; they grow in the order of reading, with gaps where lists were joined.
template <class T>
class Blocks {
 public:
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
  static constexpr uint32_t kRows = BlockArena::kBlockBytes / sizeof(T);

  explicit Blocks(BlockArena* arena) : arena_(arena) {}

  void Append(const T& value) {
    if (blocks_.empty() || blocks_.back().count == kRows) {
      blocks_.push_back({static_cast<T*>(arena_->New()), 0});
    }
    Block& block = blocks_.back();
    block.rows[block.count++] = value;
    ++count_;
  }
  void Append(Blocks&& later) {
    blocks_.insert(blocks_.end(), later.blocks_.begin(), later.blocks_.end());
    count_ += std::exchange(later.count_, 0);
    later.blocks_.clear();
  }
  // The memory comes back with the arena's.
  void Clear() {
    blocks_.clear();
    count_ = 0;
  }

  bool empty() const { return count_ == 0; }
  size_t size() const { return count_; }
  // All places are below.
  uint32_t places() const {
    if (blocks_.empty()) return 0;
    return static_cast<uint32_t>(blocks_.size() - 1) * kRows + blocks_.back().count;
  }
  // The place that the first one of a list gets when the list is appended.
  uint32_t end_place() const { return static_cast<uint32_t>(blocks_.size()) * kRows; }
  T& operator[](uint32_t place) { return blocks_[place / kRows].rows[place % kRows]; }
  const T& operator[](uint32_t place) const { return blocks_[place / kRows].rows[place % kRows]; }

  // Calls take(place, value) for all, in order.
  template <class Take>
  void ForEach(Take&& take) {
    for (uint32_t i = 0; i < blocks_.size(); ++i) {
      const Block block = blocks_[i];
      arena_->Relieve(i);
      for (uint32_t row = 0; row < block.count; ++row) take(i * kRows + row, block.rows[row]);
    }
  }
  template <class Take>
  void ForEach(Take&& take) const {
    for (uint32_t i = 0; i < blocks_.size(); ++i) {
      const Block block = blocks_[i];
      arena_->Relieve(i);
      for (uint32_t row = 0; row < block.count; ++row) {
        take(i * kRows + row, std::as_const(block.rows[row]));
      }
    }
  }

 private:
  struct Block {
    T* rows;
    uint32_t count;
  };
  BlockArena* arena_;
  std::vector<Block> blocks_;
  size_t count_ = 0;
};

// Groups of 32-bit words; no group spans two blocks.
class WordBlocks {
 public:
  explicit WordBlocks(BlockArena* arena) : arena_(arena) {}

  // Room for `count` words, which go to a place that At() finds again; at most kWords.
  std::pair<int32_t, uint32_t*> Add(uint32_t count) {
    if (blocks_.empty() || used_ + count > kWords) {
      blocks_.push_back(static_cast<uint32_t*>(arena_->New()));
      used_ = 0;
    }
    uint32_t* words = blocks_.back() + used_;
    const uint32_t place = static_cast<uint32_t>(blocks_.size() - 1) * kWords + used_;
    used_ += count;
    return {static_cast<int32_t>(place), words};
  }
  const uint32_t* At(int32_t place) const {
    const auto index = static_cast<uint32_t>(place);
    return blocks_[index / kWords] + index % kWords;
  }

 private:
  static constexpr uint32_t kWords = BlockArena::kBlockBytes / sizeof(uint32_t);
  BlockArena* arena_;
  std::vector<uint32_t*> blocks_;
  uint32_t used_ = 0;
};

}  // namespace sonde::importers::trace_events
