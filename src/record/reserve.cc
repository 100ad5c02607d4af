// The allocation functions of the recorder's library (memory.h). Its own only: the linker makes
// them local, the program keeps its own.
#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "record/memory.h"

namespace {

// For allocations until the session has ended: its end mark, messages, tables that grow once.
constexpr size_t kReserveBytes = size_t{4} << 20;
constexpr size_t kAlignment = alignof(std::max_align_t);

char* reserve = nullptr;
std::atomic<size_t> reserve_used{0};

__attribute__((constructor)) void SetAside() {
  void* memory = mmap(nullptr, kReserveBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory != MAP_FAILED) reserve = static_cast<char*>(memory);
}

// Never refilled: a process runs out of memory once at most.
void* FromReserve(size_t size) {
  sonde::record::out_of_memory.store(true, std::memory_order_relaxed);
  const size_t rounded = (size + kAlignment - 1) / kAlignment * kAlignment;
  if (reserve == nullptr || rounded > kReserveBytes) return nullptr;
  const size_t at = reserve_used.fetch_add(rounded, std::memory_order_relaxed);
  return at <= kReserveBytes - rounded ? reserve + at : nullptr;
}

bool IsOfReserve(const void* memory) {
  const auto address = reinterpret_cast<uintptr_t>(memory);
  const auto begin = reinterpret_cast<uintptr_t>(reserve);
  return reserve != nullptr && address >= begin && address < begin + kReserveBytes;
}

void* Allocate(size_t size) {
  void* memory = std::malloc(size == 0 ? 1 : size);
  return memory != nullptr ? memory : FromReserve(size == 0 ? 1 : size);
}

void* AllocateOrEnd(size_t size) {
  void* memory = Allocate(size);
  if (memory == nullptr) std::abort();  // without exceptions there is no other way
  return memory;
}

void Free(void* memory) {
  if (!IsOfReserve(memory)) std::free(memory);
}

}  // namespace

void* operator new(size_t size) { return AllocateOrEnd(size); }
void* operator new[](size_t size) { return AllocateOrEnd(size); }
void* operator new(size_t size, const std::nothrow_t&) noexcept { return Allocate(size); }
void* operator new[](size_t size, const std::nothrow_t&) noexcept { return Allocate(size); }
void operator delete(void* memory) noexcept { Free(memory); }
void operator delete[](void* memory) noexcept { Free(memory); }
void operator delete(void* memory, size_t) noexcept { Free(memory); }
void operator delete[](void* memory, size_t) noexcept { Free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { Free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { Free(memory); }
