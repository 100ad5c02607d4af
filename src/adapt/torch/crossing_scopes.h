// User scopes that end on another thread than they began on (asyncio.to_thread, generators).
//
// Only the thread that opened a range may take it off its stack. So each open user scope is in a
// table of all threads. A thread that ends another thread's scope stores the time there, and the
// owner closes the scope with that time at its next range, or when recording stops on it. Where the
// table is full, only the owner can end a scope; else it stays open. Threads: any; no locks,
// nothing is allocated.
#ifndef SONDE_ADAPT_TORCH_CROSSING_SCOPES_H_
#define SONDE_ADAPT_TORCH_CROSSING_SCOPES_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "adapt/torch/torch_symbols.h"

namespace sonde::adapt {

class CrossingScopes {
 public:
  // Of this session; false where the table is full.
  bool Open(uint32_t word, const TorchRange* range);
  // It ended on its own thread.
  void Close(uint32_t word, const TorchRange* range);
  // It ended on another one, now. False: not an open scope of this session.
  bool EndElsewhere(uint32_t word, const TorchRange* range, uint64_t ticks);
  // The moment at which it ended elsewhere, 0 where it did not; then it is closed.
  uint64_t TakeEnd(uint32_t word, const TorchRange* range);
  // Whether some scope has ended elsewhere and is not closed yet. One load.
  bool HasEnded() const { return ended_.load(std::memory_order_relaxed) != 0; }

 private:
  struct Slot {
    std::atomic<const TorchRange*> range{nullptr};  // nullptr: free
    std::atomic<uint32_t> word{0};
    std::atomic<uint64_t> ended_ticks{0};
  };
  static constexpr size_t kSlots = 1024;
  static constexpr size_t kTries = 16;
  // Another scope may have the address of one that has ended.
  Slot* Find(uint32_t word, const TorchRange* range, bool has_ended);
  Slot& At(const TorchRange* range, size_t attempt);
  void Free(Slot& slot);

  std::atomic<uint32_t> ended_{0};
  Slot slots_[kSlots];
};

}  // namespace sonde::adapt

#endif  // SONDE_ADAPT_TORCH_CROSSING_SCOPES_H_
