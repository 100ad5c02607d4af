#include "adapt/torch/crossing_scopes.h"

namespace sonde::adapt {
namespace {

const TorchRange* Claimed() { return reinterpret_cast<const TorchRange*>(uintptr_t{1}); }

}  // namespace

CrossingScopes::Slot& CrossingScopes::At(const TorchRange* range, size_t attempt) {
  return slots_[((reinterpret_cast<uintptr_t>(range) >> 4) + attempt) % kSlots];
}

CrossingScopes::Slot* CrossingScopes::Find(uint32_t word, const TorchRange* range, bool has_ended) {
  for (size_t i = 0; i < kTries; ++i) {
    Slot& slot = At(range, i);
    if (slot.range.load(std::memory_order_acquire) == range &&
        slot.word.load(std::memory_order_relaxed) == word &&
        (slot.ended_ticks.load(std::memory_order_acquire) != 0) == has_ended) {
      return &slot;
    }
  }
  return nullptr;
}

bool CrossingScopes::Open(uint32_t word, const TorchRange* range) {
  for (size_t i = 0; i < kTries; ++i) {
    Slot& slot = At(range, i);
    const TorchRange* found = slot.range.load(std::memory_order_relaxed);
    // Those of earlier sessions are free to take.
    const bool is_taken = found != nullptr && slot.word.load(std::memory_order_relaxed) == word;
    if (found == Claimed() || is_taken) continue;
    if (!slot.range.compare_exchange_strong(found, Claimed(), std::memory_order_acquire)) continue;
    if (slot.ended_ticks.exchange(0, std::memory_order_relaxed) != 0) {
      ended_.fetch_sub(1, std::memory_order_relaxed);
    }
    slot.word.store(word, std::memory_order_relaxed);
    slot.range.store(range, std::memory_order_release);
    return true;
  }
  return false;
}

void CrossingScopes::Free(Slot& slot) {
  if (slot.ended_ticks.exchange(0, std::memory_order_relaxed) != 0) {
    ended_.fetch_sub(1, std::memory_order_relaxed);
  }
  slot.range.store(nullptr, std::memory_order_release);
}

void CrossingScopes::Close(uint32_t word, const TorchRange* range) {
  if (Slot* slot = Find(word, range, false)) Free(*slot);
}

bool CrossingScopes::EndElsewhere(uint32_t word, const TorchRange* range, uint64_t ticks) {
  Slot* slot = Find(word, range, false);
  if (slot == nullptr) return false;
  slot->ended_ticks.store(ticks, std::memory_order_release);
  ended_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

uint64_t CrossingScopes::TakeEnd(uint32_t word, const TorchRange* range) {
  Slot* slot = Find(word, range, true);
  if (slot == nullptr) return 0;
  const uint64_t ticks = slot->ended_ticks.load(std::memory_order_acquire);
  Free(*slot);
  return ticks;
}

}  // namespace sonde::adapt
