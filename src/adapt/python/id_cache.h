// Maps hashes of repeated data (inputs of operators, call stacks) to dictionary ids.
//
// Between two operators the program's own work empties the near caches. So every line of a table
// that is read costs more than the hash. One line of the processor's cache holds all places that a
// hash may have. Since programs repeat themselves, the line that was used after this one is
// prefetched the next time. The 64 bits of the hash decide: two of 10 000 share one once in 10^11
// programs. In a full line the oldest entry is replaced. Threads: one cache per thread. No
// allocation.
#ifndef SONDE_ADAPT_PYTHON_ID_CACHE_H_
#define SONDE_ADAPT_PYTHON_ID_CACHE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace sonde::adapt {

template <size_t kLines>
class IdCache {
 public:
  // The id of this hash, which is not 0. False: unknown, or replaced since.
  bool Find(uint64_t hash, uint32_t* id) {
    const uint32_t number = LineOf(hash);
    for (Slot& slot : lines_[number].slots) {
      if (slot.hash == hash) [[likely]] {
        Follow(&slot, number);
        *id = slot.id;
        return true;
      }
    }
    return false;
  }

  void Add(uint64_t hash, uint32_t id) {
    const uint32_t number = LineOf(hash);
    Slot* slots = lines_[number].slots;
    std::copy_backward(slots, slots + kWays - 1, slots + kWays);
    slots[0] = {hash, id, 0};
    Follow(slots, number);
  }

 private:
  static constexpr size_t kWays = 4;

  struct Slot {
    uint64_t hash;  // 0: free
    uint32_t id;
    uint32_t next_line;
  };
  struct alignas(64) Line {
    Slot slots[kWays];
  };

  static uint32_t LineOf(uint64_t hash) { return static_cast<uint32_t>((hash >> 32) % kLines); }

  void Follow(Slot* slot, uint32_t number) {
    if (last_->next_line != number) last_->next_line = number;
    last_ = slot;
    __builtin_prefetch(&lines_[slot->next_line], 1);
  }

  Line lines_[kLines] = {};
  Slot* last_ = &lines_[0].slots[0];
};

}  // namespace sonde::adapt

#endif  // SONDE_ADAPT_PYTHON_ID_CACHE_H_
