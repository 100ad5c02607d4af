// A vector for tables of many rows: memory of 2 MiB and more is asked for in huge pages, which
// costs one page fault where small pages cost 512. Elements of trivial types only are cheap to
// move.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <new>
#include <vector>

namespace sonde::base {

template <class T>
struct LargeAllocator {
  using value_type = T;
  static constexpr size_t kHugePage = size_t{2} << 20U;

  LargeAllocator() = default;
  template <class U>
  explicit LargeAllocator(const LargeAllocator<U>&) {}

  T* allocate(size_t count) {
    if (count * sizeof(T) < kHugePage) return static_cast<T*>(::operator new(count * sizeof(T)));
    const size_t size = (count * sizeof(T) + kHugePage - 1) / kHugePage * kHugePage;
    void* memory = std::aligned_alloc(kHugePage, size);
    if (memory == nullptr) throw std::bad_alloc();
    madvise(memory, size, MADV_HUGEPAGE);  // a hint: small pages do as well
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, size_t count) {
    if (count * sizeof(T) < kHugePage) {
      ::operator delete(memory);
    } else {
      std::free(memory);
    }
  }
  bool operator==(const LargeAllocator&) const { return true; }
};

template <class T>
using LargeVector = std::vector<T, LargeAllocator<T>>;

}  // namespace sonde::base
