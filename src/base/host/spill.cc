#include "base/host/spill.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/check.h"
#include "base/strings.h"

namespace sonde::base {
namespace {

constexpr size_t kHugePage = size_t{2} << 20U;
// Clearing a huge page takes about 0.1 ms; where a virtual machine's host took the memory back, and
// finds it again in small pages, 3.5 ms, and pages of the usual size are faster.
constexpr auto kSlowHugePage = std::chrono::milliseconds(1);
// Of the file: a region that is taken is written to, and the next one begins behind it.
constexpr size_t kFileUnit = size_t{64} << 10U;
constexpr size_t kSpareBytes = size_t{16} << 20U;
// Smaller gains are not worth it: each page that is needed again costs a fault.
constexpr size_t kWorthShrinking = size_t{32} << 20U;
constexpr auto kPause = std::chrono::milliseconds(2);  // after a round without effect

size_t RoundedTo(size_t unit, size_t bytes) { return (bytes + unit - 1) / unit * unit; }
size_t Rounded(size_t bytes) { return RoundedTo(kHugePage, bytes); }

// Aligned to huge pages; null where there is none. Not from the heap, which does not return memory
// to the system. `with_huge_pages` is set to false where they turn out to be slow.
void* MapPlain(size_t bytes, bool& with_huge_pages) {
  void* const map = mmap(nullptr, bytes + kHugePage, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) return nullptr;
  const auto place = reinterpret_cast<uintptr_t>(map);
  const size_t before = Rounded(place) - place;
  auto* const memory = static_cast<char*>(map) + before;
  if (before > 0) munmap(map, before);
  if (before < kHugePage) munmap(memory + bytes, kHugePage - before);
  if (!with_huge_pages) return memory;
  madvise(memory, bytes, MADV_HUGEPAGE);  // a hint: small pages do as well
  const auto begin = std::chrono::steady_clock::now();
  *memory = 0;
  with_huge_pages = std::chrono::steady_clock::now() - begin < kSlowHugePage;
  if (!with_huge_pages) madvise(memory, bytes, MADV_NOHUGEPAGE);
  return memory;
}

// A file without a name, on the disk of that folder.
int OpenUnlinked(const std::string& folder) {
  const int file = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file >= 0) return file;
  std::string name = folder + "/.sonde_spill_XXXXXX";  // file systems without O_TMPFILE
  const int named = mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) unlink(name.c_str());
  return named;
}

// The space is taken now: a full disk must not show as a fault when a page is touched. It is
// written to since pages that the system has of the file cost half as much at their first touch.
bool WriteZeros(int file, uint64_t offset, size_t bytes) {
  static constexpr std::array<char, size_t{256} << 10U> kZeros = {};
  for (size_t written = 0; written < bytes;) {
    const size_t size = std::min(kZeros.size(), bytes - written);
    const ssize_t got = pwrite(file, kZeros.data(), size, static_cast<off_t>(offset + written));
    if (got <= 0 && errno != EINTR) return false;
    if (got > 0) written += static_cast<size_t>(got);
  }
  return true;
}

// Where the file system cannot do it, the space comes back with the end of the file.
void GiveBack(int file, uint64_t offset, size_t bytes) {
  fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
            static_cast<off_t>(bytes));
}

struct Resident {
  size_t bytes = 0;
  size_t of_files = 0;  // part of it
};

}  // namespace

// The second and third number of statm, in pages; 0 where that cannot be read. The file stays open:
// it is read all the time.
class SpillPool::ResidentMemory {
 public:
  ResidentMemory() : file_(open("/proc/self/statm", O_RDONLY | O_CLOEXEC)) {}
  ResidentMemory(const ResidentMemory&) = delete;
  ResidentMemory& operator=(const ResidentMemory&) = delete;
  ~ResidentMemory() {
    if (file_ >= 0) close(file_);
  }

  Resident Now() const {
    std::array<char, 128> text;
    const ssize_t size = file_ < 0 ? 0 : pread(file_, text.data(), text.size(), 0);
    if (size <= 0) return {};
    const auto numbers = Split(std::string_view(text.data(), static_cast<size_t>(size)), ' ');
    const auto bytes = [&](size_t i) {
      const auto pages = numbers.size() > i ? ParseInt64(numbers[i]) : std::nullopt;
      return static_cast<size_t>(pages.value_or(0)) * page_;
    };
    return {bytes(1), bytes(2)};
  }

 private:
  int file_;
  size_t page_ = static_cast<size_t>(sysconf(_SC_PAGESIZE));
};

SpillPool::SpillPool(Options options) : options_(std::move(options)) {}

SpillPool::~SpillPool() {
  CHECK(regions_.empty() && kept_bytes_ == 0, "memory of the pool is still in use");
  watcher_ = {};
  for (const auto& [bytes, memory] : spares_) munmap(memory, bytes);
  if (file_ >= 0) close(file_);
}

void* SpillPool::Allocate(size_t bytes) {
  Relieve();  // most is written to as soon as it is there
  if (void* memory = AllocatePlain(Rounded(bytes), options_.keep_bytes)) return memory;
  if (void* memory = AllocateInFile(RoundedTo(kFileUnit, bytes))) return memory;
  void* memory = AllocatePlain(Rounded(bytes), SIZE_MAX);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

// Null where plain memory would hold more than `most` by it, or there is none.
void* SpillPool::AllocatePlain(size_t bytes, size_t most) {
  const std::lock_guard lock(mutex_);
  if (kept_bytes_ + bytes > most) return nullptr;
  void* memory = TakeSpare(bytes);
  if (memory == nullptr) memory = MapPlain(bytes, with_huge_pages_);
  if (memory != nullptr) kept_bytes_ += bytes;
  return memory;
}

// Memory of that size that was released shortly before; null where there is none.
void* SpillPool::TakeSpare(size_t bytes) {
  const auto found = spares_.find(bytes);
  if (found == spares_.end()) return nullptr;
  void* memory = found->second;
  spares_.erase(found);
  spare_bytes_ -= bytes;
  return memory;
}

// Other threads go on while the space is taken, which is as slow as the disk.
void* SpillPool::AllocateInFile(size_t bytes) {
  uint64_t offset = 0;
  {
    const std::lock_guard lock(mutex_);
    if (file_ < 0) file_ = OpenUnlinked(options_.folder);
    if (file_ < 0) return nullptr;
    offset = file_end_;
    file_end_ += bytes;
  }
  void* memory = MAP_FAILED;
  if (WriteZeros(file_, offset, bytes)) {
    memory =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, static_cast<off_t>(offset));
  }
  if (memory == MAP_FAILED) {
    GiveBack(file_, offset, bytes);
    return nullptr;
  }
  const std::lock_guard lock(mutex_);
  regions_.emplace(memory, Region{bytes, offset});
  if (!watcher_.joinable()) {
    memory_ = std::make_unique<ResidentMemory>();
    has_file_.store(true, std::memory_order_release);
    watcher_ = std::jthread([this](const std::stop_token& stop) { WatchSize(stop); });
  }
  return memory;
}

void SpillPool::Release(void* memory, size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto region = regions_.find(memory);
  if (region == regions_.end()) {
    bytes = Rounded(bytes);
    kept_bytes_ -= bytes;
    if (spare_bytes_ + bytes <= kSpareBytes) {
      spares_.emplace(bytes, memory);
      spare_bytes_ += bytes;
    } else {
      munmap(memory, bytes);
    }
    return;
  }
  munmap(memory, region->second.bytes);
  GiveBack(file_, region->second.offset, region->second.bytes);
  regions_.erase(region);
}

size_t SpillPool::spilled_bytes() const {
  const std::lock_guard lock(mutex_);
  size_t sum = 0;
  for (const auto& [memory, region] : regions_) sum += region.bytes;
  return sum;
}

void SpillPool::WatchSize(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock(mutex);
  while (!stop.stop_requested()) {
    wake.wait_for(lock, stop, std::chrono::milliseconds(2), [] { return false; });
    Relieve();
  }
}

void SpillPool::Relieve() {
  if (!has_file_.load(std::memory_order_acquire)) return;
  // A thread that walks meanwhile would map pages again as fast as they are given back.
  const std::lock_guard lock(size_mutex_);
  const Resident before = memory_->Now();
  least_of_files_ = std::min(least_of_files_, before.of_files);
  if (before.bytes <= options_.resident_bytes ||
      before.of_files < least_of_files_ + kWorthShrinking) {
    return;
  }
  const auto now = std::chrono::steady_clock::now();
  if (now < next_round_) return;
  Shrink();
  // Pages of others do not leave with ours, and ours may come back as fast as they go.
  const bool was_worth_it = memory_->Now().of_files + kWorthShrinking / 2 <= before.of_files;
  if (!was_worth_it) next_round_ = now + kPause;
}

// The pages leave this process; their content stays in the file.
void SpillPool::Shrink() {
  const std::lock_guard lock(mutex_);
  for (const auto& [memory, region] : regions_) madvise(memory, region.bytes, MADV_DONTNEED);
}

}  // namespace sonde::base
