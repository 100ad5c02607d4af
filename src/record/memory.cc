#include "record/memory.h"

#include <cstdlib>

namespace sonde::record {

std::atomic<bool> out_of_memory{false};

bool TryForMemory() {
  if (!IsOutOfMemory()) return true;
  constexpr size_t kSome = size_t{8} << 20;
  void* some = std::malloc(kSome);
  if (some == nullptr) return false;
  std::free(some);
  out_of_memory.store(false, std::memory_order_relaxed);
  return true;
}

}  // namespace sonde::record
