#include "record/ring.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

#include "record/clock.h"
#include "record/error.h"

namespace sonde::record {

namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kFirstPopulatedSlots = 2048;

uint64_t BytesOf(uint64_t slots) { return capture::kRingDataOffset + slots * sizeof(Record); }

}  // namespace

using capture::kMaxOpenRanges;
using capture::RingHeader;

Ring* Ring::Create(const CaptureIdentity& identity, uint32_t slots, uint32_t number,
                   std::atomic<int32_t>* ended, std::string* issue) {
  slots = std::bit_ceil(std::clamp(slots, kMinRingSlots, kMaxRingSlots));
  // Aligned memory does not come from the reserve (reserve.h), and its plain form would end the
  // process where there is none.
  Ring* ring = new (std::nothrow) Ring;
  if (ring == nullptr) {
    *issue = "there was no memory for a ring buffer";
    return nullptr;
  }
  ring->ended_ = ended;
  ring->full_slots_ = slots;
  ring->whole_size_ = BytesOf(slots);
  const int result = ring->MapFile(identity.folder + "/ring_" + std::to_string(number) + ".sonde");
  if (result != 0) {
    *issue = std::string("a ring buffer is not backed by a file (") + ErrorText(-result) +
             "): the last records of its thread are lost if the process is killed";
    void* memory = mmap(nullptr, ring->whole_size_, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
      delete ring;
      return nullptr;
    }
    ring->memory_ = static_cast<char*>(memory);
    ring->memory_size_ = ring->whole_size_;
    ring->backed_bytes_ = ring->whole_size_;
  }
  if (ring->memory_size_ == ring->whole_size_) ring->whole_ = ring->memory_;
  auto* header = reinterpret_cast<RingHeader*>(ring->memory_);
  header->version = capture::kFormatVersion;
  header->session_id = identity.session_id;
  header->pid = identity.pid;
  header->capacity = (ring->backed_bytes_ - capture::kRingDataOffset) / sizeof(Record);

  RingWriter& writer = ring->writer_;
  writer.header = header;
  writer.open = reinterpret_cast<Record*>(ring->memory_ + capture::kOpenRangesOffset);
  writer.slots = ring->slots(header->capacity);
  writer.use_counter = identity.clock_kind == capture::ClockKind::kTsc ? 1 : 0;
  writer.state = ring;
  return ring;
}

void Ring::Begin(uint32_t thread_index, uint32_t tid, uint32_t word) {
  RingHeader* header = writer_.header;
  header->thread_index = thread_index;
  header->tid = tid;
  header->head = 0;
  header->dropped = 0;
  header->open_depth = 0;
  header->tail = 0;
  __atomic_store_n(&header->magic, capture::kRingMagic, __ATOMIC_RELEASE);

  writer_.busy.store(0, std::memory_order_relaxed);
  writer_.open_depth = 0;
  writer_.thread_index = thread_index;
  writer_.mask = header->capacity - 1;
  writer_.head = 0;
  writer_.limit = header->capacity;
  writer_.next_id = 0;
  writer_.orphan_pops = 0;
  writer_.word.store(word, std::memory_order_relaxed);
  reported_dropped = 0;
  may_grow_ = header->capacity < full_slots_;
  done_.store(0, std::memory_order_relaxed);
}

// Without the magic the file is empty by definition; a reader recognizes by it that the ring
// changed.
void Ring::Rest() {
  ended_->fetch_sub(1, std::memory_order_relaxed);
  writer_.word.store(0, std::memory_order_relaxed);
  __atomic_exchange_n(&writer_.header->magic, uint64_t{0}, __ATOMIC_ACQ_REL);
}

int Ring::MapFile(const std::string& path) {
  int fd = CreateFile(path);
  if (fd < 0) return fd;
  const uint64_t first = BytesOf(std::min<uint64_t>(full_slots_, kFirstRingSlots));
  int result = AllocateBlocks(fd, 0, first);
  if (result == 0) {
    void* memory = mmap(nullptr, first, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) {
      result = -errno;
    } else {
      memory_ = static_cast<char*>(memory);
      memory_size_ = first;
      path_ = path;
      file_ = DescriptorIdentity(fd);
      backed_bytes_ = first;
    }
  }
  CloseFile(&fd);
  if (result != 0) unlink(path.c_str());
  return result;
}

int Ring::BackRest(int fd) {
  // The program may have put another file in its place.
  if (!file_.Holds(fd)) return -ESTALE;
  const uint64_t backed = backed_bytes_.load(std::memory_order_acquire);
  if (backed < whole_size_) {
    const int result = AllocateBlocks(fd, backed, whole_size_ - backed);
    if (result != 0) return result;
    backed_bytes_.store(whole_size_, std::memory_order_release);
  }
  void* memory = mmap(nullptr, whole_size_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return -errno;
  whole_.store(static_cast<char*>(memory), std::memory_order_release);
  return 0;
}

bool Ring::BackAll() {
  if (whole_.load(std::memory_order_acquire) != nullptr) return true;
  const std::lock_guard lock(backing_mutex_);  // blocks may be allocated by writing zeros
  if (whole_.load(std::memory_order_acquire) != nullptr) return true;
  int fd = OpenOwnFile(path_);
  if (fd < 0) return false;
  const int result = BackRest(fd);
  CloseFile(&fd);
  return result == 0;
}

// Possible as long as no slot has been used twice: the place of each is then the same in a ring of
// any size. Where the disk has no more the ring stays as it is. The first mapping stays, too: the
// drain thread may be reading it, and both show the same pages.
void Ring::Grow() {
  may_grow_ = false;
  if (!BackAll()) return;
  writer_.slots = slots(full_slots_);
  writer_.mask = full_slots_ - 1;
  writer_.limit = full_slots_;
  __atomic_store_n(&writer_.header->capacity, full_slots_, __ATOMIC_RELEASE);
}

bool Ring::FindRoom(uint64_t count) {
  if (may_grow_) Grow();
  RingHeader* header = writer_.header;
  if (writer_.head + count <= writer_.limit) return true;
  writer_.limit = __atomic_load_n(&header->tail, __ATOMIC_ACQUIRE) + writer_.mask + 1;
  if (writer_.head + count <= writer_.limit) return true;
  __atomic_store_n(&header->dropped, header->dropped + 1, __ATOMIC_RELAXED);
  return false;
}

void Ring::Release(uint32_t who) {
  std::atomic<int32_t>* const ended = ended_;  // the session may delete the ring meanwhile
  const uint32_t before = done_.fetch_or(who, std::memory_order_acq_rel);
  if (before == 0 && who == kOwnerDone) ended->fetch_add(1, std::memory_order_relaxed);
  if (before == kOwnerDone && who == kSessionDone) ended->fetch_sub(1, std::memory_order_relaxed);
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
  char* const whole = whole_.exchange(nullptr, std::memory_order_acq_rel);
  if (whole != nullptr && whole != memory_) munmap(whole, whole_size_);
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
  const uint64_t size = capacity();
  const uint64_t place = begin & (size - 1);
  const uint64_t first = std::min(end - begin, size - place);
  const Record* const base = slots(size);
  source->pieces[0] = base + place;
  source->counts[0] = static_cast<uint32_t>(first);
  source->pieces[1] = base;
  source->counts[1] = static_cast<uint32_t>(end - begin - first);
  return true;
}

void Ring::Take(const ChunkSource& source) {
  __atomic_store_n(&writer_.header->tail, source.first_slot + source.counts[0] + source.counts[1],
                   __ATOMIC_RELEASE);
}

void Ring::PopulateAhead() {
  const uint64_t end_of_used = head();
  // A small ring that is half full will soon be full.
  if (end_of_used > kFirstRingSlots / 2) BackAll();
  char* const memory = mapping();
  if (std::exchange(populated_, memory) != memory) populated_bytes_ = 0;
  const uint64_t size = memory == memory_ ? memory_size_ : whole_size_;
  if (populated_bytes_ >= size) return;
  // A quarter of the ring, but only a little before the first record is seen.
  const uint64_t ahead = end_of_used == 0 ? kFirstPopulatedSlots : full_slots_ / 4;
  const uint64_t wanted = BytesOf(end_of_used + ahead);
  const uint64_t end =
      std::min(wanted / kPage * kPage, backed_bytes_.load(std::memory_order_relaxed));
  if (end <= populated_bytes_) return;
  // A kernel before 5.14 refuses; then the owner takes the page faults.
  const bool done =
      madvise(memory + populated_bytes_, end - populated_bytes_, MADV_POPULATE_WRITE) == 0;
  populated_bytes_ = done ? end : size;
}

char* Ring::mapping() const {
  char* const whole = whole_.load(std::memory_order_acquire);
  return whole == nullptr ? memory_ : whole;
}

Record* Ring::slots(uint64_t capacity) const {
  char* const base = capacity == full_slots_ ? whole_.load(std::memory_order_acquire) : memory_;
  return reinterpret_cast<Record*>(base + capture::kRingDataOffset);
}

// With acquire, as the mapping of that capacity is looked up next.
uint64_t Ring::capacity() const {
  return __atomic_load_n(&writer_.header->capacity, __ATOMIC_ACQUIRE);
}

uint64_t Ring::head() const { return __atomic_load_n(&writer_.header->head, __ATOMIC_ACQUIRE); }
uint64_t Ring::dropped() const {
  return __atomic_load_n(&writer_.header->dropped, __ATOMIC_RELAXED);
}

// While the owner records, an entry may be half of one range and half of the next; callers must
// expect that.
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
  return static_cast<double>(used) / static_cast<double>(capacity());
}

void Ring::RemoveFile() {
  if (!path_.empty()) unlink(path_.c_str());
}

void Ring::Discard() {
  Unmap();
  delete this;
}

}  // namespace sonde::record
