// Memory for tables that may grow beyond the memory a program should use: above a limit it is
// mapped from an unlinked file, and leaves the process whenever that has become too large.
//
//   SpillPool pool({.folder = folder});
//   SpillVector<Row> rows{SpillAllocator<Row>(&pool)};     // a std::vector like any other
//   SpillSteps steps(&pool);
//   for (Row& row : rows) { steps.Next(); ... }            // long loops over such memory
//
// Pages that have left come back when they are touched, from the system's file cache or the disk.
// Where the disk is full or the folder cannot be written, it stays plain memory. Threads: Allocate
// and Release may be called from any; the vectors are as std::vector.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <stop_token>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace sonde::base {

class SpillPool {
 public:
  struct Options {
    std::string folder = "/tmp";             // for the file; on a disk, not in memory
    size_t keep_bytes = size_t{160} << 20U;  // limit of plain memory
    // Above this size of the whole process, pages of the file leave memory.
    size_t resident_bytes = size_t{256} << 20U;
  };
  explicit SpillPool(Options options);
  SpillPool(const SpillPool&) = delete;
  SpillPool& operator=(const SpillPool&) = delete;
  // All memory must have been released.
  ~SpillPool();

  void* Allocate(size_t bytes);
  void Release(void* memory, size_t bytes);
  // Makes the process smaller where it has become too large. A thread of the pool does so every few
  // milliseconds, but a loop over the file can touch a hundred megabytes meanwhile: such loops call
  // this themselves. Free without a file, else some microseconds, or a wait for the thread that is
  // at it. Any thread.
  void Relieve();
  // In the file.
  size_t spilled_bytes() const;

 private:
  struct Region {
    size_t bytes;
    uint64_t offset;
  };
  void* AllocatePlain(size_t bytes, size_t most);
  void* AllocateInFile(size_t bytes);  // null where that is not possible
  void* TakeSpare(size_t bytes);
  void WatchSize(const std::stop_token& stop);
  void Shrink();

  class ResidentMemory;

  Options options_;
  mutable std::mutex mutex_;
  size_t kept_bytes_ = 0;
  bool with_huge_pages_ = true;          // until one was slow
  std::multimap<size_t, void*> spares_;  // plain memory for the next request, by size
  size_t spare_bytes_ = 0;
  int file_ = -1;
  uint64_t file_end_ = 0;
  std::map<void*, Region> regions_;  // those in the file
  std::atomic<bool> has_file_ = false;
  std::mutex size_mutex_;                   // guards the members below
  std::unique_ptr<ResidentMemory> memory_;  // once there is a file
  size_t least_of_files_ = SIZE_MAX;        // that the process ever held
  std::chrono::steady_clock::time_point next_round_;
  std::jthread watcher_;  // runs once there is a file
};

// Relieves the pool now and then. One thread.
class SpillSteps {
 public:
  explicit SpillSteps(SpillPool* pool) : pool_(pool) {}
  void Next() {
    if (++steps_ % kStepsARound == 0 && pool_ != nullptr) pool_->Relieve();
  }

 private:
  static constexpr uint32_t kStepsARound = 1U << 11U;  // each may bring 64 kB
  SpillPool* pool_;
  uint32_t steps_ = 0;
};

// std::is_sorted for elements that may be in the pool's file, or refer to it.
template <class Iterator, class Before>
bool IsSorted(Iterator first, Iterator last, SpillPool* pool, const Before& before) {
  SpillSteps steps(pool);
  for (; first != last && std::next(first) != last; ++first) {
    steps.Next();
    if (before(*std::next(first), *first)) return false;
  }
  return true;
}

// Small pieces come from the heap. Without a pool all do.
template <class T>
class SpillAllocator {
 public:
  using value_type = T;
  using propagate_on_container_move_assignment = std::true_type;
  using propagate_on_container_swap = std::true_type;

  SpillAllocator() = default;
  explicit SpillAllocator(SpillPool* pool) : pool_(pool) {}
  template <class U>
  explicit SpillAllocator(const SpillAllocator<U>& other) : pool_(other.pool()) {}

  T* allocate(size_t count) {
    const size_t bytes = count * sizeof(T);
    if (pool_ == nullptr || bytes < kSmall) return static_cast<T*>(::operator new(bytes));
    return static_cast<T*>(pool_->Allocate(bytes));
  }
  void deallocate(T* memory, size_t count) {
    const size_t bytes = count * sizeof(T);
    if (pool_ == nullptr || bytes < kSmall) {
      ::operator delete(memory);
    } else {
      pool_->Release(memory, bytes);
    }
  }
  SpillPool* pool() const { return pool_; }
  bool operator==(const SpillAllocator& other) const { return pool_ == other.pool_; }

 private:
  static constexpr size_t kSmall = size_t{256} << 10U;
  SpillPool* pool_ = nullptr;
};

template <class T>
using SpillVector = std::vector<T, SpillAllocator<T>>;

}  // namespace sonde::base
