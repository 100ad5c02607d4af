#include "record/ring.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>

#include "record/clock.h"
#include "record/error.h"
#include "record/file.h"

namespace sonde::record {

namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kFirstPopulatedSlots = 2048;

}  // namespace

using capture::kMaxOpenRanges;
using capture::RingHeader;

Ring* Ring::Create(const CaptureIdentity& identity, uint32_t slots, uint32_t thread_index,
                   uint32_t tid, uint32_t word, std::string* issue) {
  slots = std::bit_ceil(std::clamp(slots, kMinRingSlots, kMaxRingSlots));
  Ring* ring = new Ring;
  ring->memory_size_ = capture::kRingDataOffset + size_t{slots} * sizeof(Record);
  const std::string path = identity.folder + "/ring_" + std::to_string(thread_index) + ".sonde";
  const int result = ring->MapFile(path);
  if (result != 0) {
    *issue = "ring buffer of thread " + std::to_string(tid) + " is not backed by a file (" +
             ErrorText(-result) + "): its last records are lost if the process is killed";
    void* memory = mmap(nullptr, ring->memory_size_, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
      delete ring;
      return nullptr;
    }
    ring->memory_ = memory;
  }
  auto* header = static_cast<RingHeader*>(ring->memory_);
  header->version = capture::kFormatVersion;
  header->thread_index = thread_index;
  header->session_id = identity.session_id;
  header->pid = identity.pid;
  header->tid = tid;
  header->capacity = slots;
  __atomic_store_n(&header->magic, capture::kRingMagic, __ATOMIC_RELEASE);

  char* base = static_cast<char*>(ring->memory_);
  RingWriter& writer = ring->writer_;
  writer.word.store(word, std::memory_order_relaxed);
  writer.thread_index = thread_index;
  writer.header = header;
  writer.open = reinterpret_cast<Record*>(base + capture::kOpenRangesOffset);
  writer.slots = reinterpret_cast<Record*>(base + capture::kRingDataOffset);
  writer.mask = slots - 1;
  writer.limit = slots;
  writer.use_counter = identity.clock_kind == capture::ClockKind::kTsc ? 1 : 0;
  writer.state = ring;
  ring->PopulateAhead();
  return ring;
}

int Ring::MapFile(const std::string& path) {
  int fd = CreateFile(path);
  if (fd < 0) return fd;
  int result = AllocateBlocks(fd, memory_size_);
  if (result == 0) {
    void* memory = mmap(nullptr, memory_size_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) {
      result = -errno;
    } else {
      memory_ = memory;
      path_ = path;
    }
  }
  CloseFile(&fd);
  if (result != 0) unlink(path.c_str());
  return result;
}

void Ring::Release(uint32_t who) {
  const uint32_t before = done_.fetch_or(who, std::memory_order_acq_rel);
  if ((before | who) != (kOwnerDone | kSessionDone)) return;
  Unmap();
  delete this;
}

void Ring::ReleaseBySession(bool owner_is_out) {
  if (owner_is_out) {
    writer_.word.store(0, std::memory_order_relaxed);
    Unmap();
  }
  Release(kSessionDone);
}

void Ring::Unmap() {
  if (memory_ != nullptr) munmap(memory_, memory_size_);
  memory_ = nullptr;
}

bool Ring::Pending(ChunkSource* source) const {
  const uint64_t end = head();
  const uint64_t begin = __atomic_load_n(&writer_.header->tail, __ATOMIC_RELAXED);
  *source = {};
  source->thread_index = writer_.thread_index;
  source->first_slot = begin;
  source->dropped_total = dropped();
  if (begin == end) return false;
  const uint64_t capacity = writer_.mask + 1;
  const uint64_t first = std::min(end - begin, capacity - (begin & writer_.mask));
  source->pieces[0] = writer_.slots + (begin & writer_.mask);
  source->counts[0] = static_cast<uint32_t>(first);
  source->pieces[1] = writer_.slots;
  source->counts[1] = static_cast<uint32_t>(end - begin - first);
  return true;
}

void Ring::Take(const ChunkSource& source) {
  __atomic_store_n(&writer_.header->tail, source.first_slot + source.counts[0] + source.counts[1],
                   __ATOMIC_RELEASE);
}

void Ring::PopulateAhead() {
  if (populated_bytes_ >= memory_size_) return;
  // A quarter of the ring, but only a little before the first record is seen.
  const uint64_t ahead = head() == 0 ? kFirstPopulatedSlots : (writer_.mask + 1) / 4;
  const uint64_t wanted = capture::kRingDataOffset + (head() + ahead) * sizeof(Record);
  const uint64_t end = std::min<uint64_t>(wanted / kPage * kPage, memory_size_);
  if (end <= populated_bytes_) return;
  // A kernel before 5.14 refuses; then the owner meets the faults, as it would anyway.
  const bool done = madvise(static_cast<char*>(memory_) + populated_bytes_, end - populated_bytes_,
                            MADV_POPULATE_WRITE) == 0;
  populated_bytes_ = done ? end : memory_size_;
}

uint64_t Ring::head() const { return __atomic_load_n(&writer_.header->head, __ATOMIC_ACQUIRE); }
uint64_t Ring::dropped() const {
  return __atomic_load_n(&writer_.header->dropped, __ATOMIC_RELAXED);
}

// While the owner records, an entry may be half of one range and half of the next: known, and for
// the asker to bear with.
__attribute__((no_sanitize("thread"))) uint32_t Ring::OpenRanges(Record* out,
                                                                 uint32_t capacity) const {
  const uint32_t depth =
      std::min(__atomic_load_n(&writer_.header->open_depth, __ATOMIC_ACQUIRE), kMaxOpenRanges);
  uint32_t count = 0;
  for (uint32_t i = 0; i < depth && count < capacity; ++i) {
    Record record = writer_.open[i];
    if (capture::KindOf(record) == RecordKind::kNone) continue;
    record.dur_kind |= capture::kUnfinished;
    out[count++] = record;
  }
  return count;
}

double Ring::Fill() const {
  const uint64_t used = head() - __atomic_load_n(&writer_.header->tail, __ATOMIC_RELAXED);
  return static_cast<double>(used) / static_cast<double>(writer_.mask + 1);
}

void Ring::RemoveFile() {
  if (!path_.empty()) unlink(path_.c_str());
}

void Ring::DropInChild() {
  Unmap();
  delete this;
}

}  // namespace sonde::record
