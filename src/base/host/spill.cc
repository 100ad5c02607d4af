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
constexpr size_t kSpareBytes = size_t{16} << 20U;
constexpr size_t kWorthShrinking = size_t{32} << 20U;

size_t Rounded(size_t bytes) { return (bytes + kHugePage - 1) / kHugePage * kHugePage; }

// Aligned to huge pages; null where there is none. Not from the heap, which keeps what it once had.
void* MapPlain(size_t bytes) {
  void* const map = mmap(nullptr, bytes + kHugePage, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) return nullptr;
  const auto place = reinterpret_cast<uintptr_t>(map);
  const size_t before = Rounded(place) - place;
  auto* const memory = static_cast<char*>(map) + before;
  if (before > 0) munmap(map, before);
  if (before < kHugePage) munmap(memory + bytes, kHugePage - before);
  madvise(memory, bytes, MADV_HUGEPAGE);  // a hint: small pages do as well
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

struct Resident {
  size_t bytes = 0;
  size_t of_files = 0;  // part of it
};

// The second and third number of statm, in pages; 0 where that cannot be read. The file stays open:
// it is read all the time.
class ResidentMemory {
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

}  // namespace

SpillPool::~SpillPool() {
  CHECK(regions_.empty() && kept_bytes_ == 0, "memory of the pool is still in use");
  watcher_ = {};
  for (const auto& [bytes, memory] : spares_) munmap(memory, bytes);
  if (file_ >= 0) close(file_);
}

void* SpillPool::Allocate(size_t bytes) {
  bytes = Rounded(bytes);
  const std::lock_guard lock(mutex_);
  if (kept_bytes_ + bytes > options_.keep_bytes) {
    if (void* memory = AllocateInFile(bytes)) return memory;
  }
  void* memory = TakeSpare(bytes);
  if (memory == nullptr) memory = MapPlain(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  kept_bytes_ += bytes;
  return memory;
}

// What was released a moment ago, and is of that size; null where there is none.
void* SpillPool::TakeSpare(size_t bytes) {
  const auto found = spares_.find(bytes);
  if (found == spares_.end()) return nullptr;
  void* memory = found->second;
  spares_.erase(found);
  spare_bytes_ -= bytes;
  return memory;
}

void* SpillPool::AllocateInFile(size_t bytes) {
  if (file_ < 0) file_ = OpenUnlinked(options_.folder);
  if (file_ < 0 || !WriteZeros(file_, file_end_, bytes)) return nullptr;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_,
                      static_cast<off_t>(file_end_));
  if (memory == MAP_FAILED) return nullptr;
  regions_.emplace(memory, Region{bytes, file_end_});
  file_end_ += bytes;
  if (!watcher_.joinable()) {
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
  // Where the file system cannot do it, the space comes back with the end of the file.
  fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
            static_cast<off_t>(region->second.offset), static_cast<off_t>(region->second.bytes));
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
  // What others hold of files does not leave with ours: only what came since is worth a round, for
  // each page that is needed again costs a fault.
  size_t stays = 0;
  const ResidentMemory memory;
  while (!stop.stop_requested()) {
    // A walk through what lies in the file takes in tens of megabytes within that time.
    wake.wait_for(lock, stop, std::chrono::milliseconds(2), [] { return false; });
    const Resident now = memory.Now();
    stays = std::min(stays, now.of_files);
    if (now.bytes <= options_.resident_bytes || now.of_files < stays + kWorthShrinking) continue;
    Shrink();
    stays = memory.Now().of_files;
  }
}

// The pages leave this process; what is in them stays in the file.
void SpillPool::Shrink() {
  const std::lock_guard lock(mutex_);
  for (const auto& [memory, region] : regions_) madvise(memory, region.bytes, MADV_DONTNEED);
}

}  // namespace sonde::base
