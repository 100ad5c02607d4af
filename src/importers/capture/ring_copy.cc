#include "importers/capture/ring_copy.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/files.h"
#include "importers/common/part_file.h"

namespace sonde::importers::capture_import {
namespace {

using capture::Record;
using capture::RingHeader;

constexpr uint64_t kMaxRingSlots = uint64_t{1} << 32U;
// A record takes some hundred nanoseconds, a copy of the open ranges less: the second attempt
// nearly always finds a moment between two records.
constexpr int kAttempts = 100;

Record SlotAt(const std::byte* slots, uint64_t index) {
  Record record;
  std::memcpy(&record, slots + index * sizeof(Record), sizeof(record));
  return record;
}

uint64_t LoadPosition(const std::byte* ring, size_t offset) {
  return __atomic_load_n(reinterpret_cast<const uint64_t*>(ring + offset), __ATOMIC_ACQUIRE);
}
uint64_t HeadOf(const std::byte* ring) { return LoadPosition(ring, offsetof(RingHeader, head)); }
uint64_t TailOf(const std::byte* ring) { return LoadPosition(ring, offsetof(RingHeader, tail)); }

struct Positions {
  uint64_t head;
  uint64_t tail;
};

// Both of one moment: the tail moves only every few milliseconds.
Positions PositionsOf(const std::byte* ring) {
  Positions at{};
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    at.tail = TailOf(ring);
    at.head = HeadOf(ring);
    if (TailOf(ring) == at.tail) break;
  }
  return at;
}

class Copier {
 public:
  Copier(const base::MappedFile& file, RingCopy& copy)
      : ring_(file.data()),
        most_slots_((file.size() - capture::kRingDataOffset) / sizeof(Record)),
        copy_(copy) {}

  // False: the ring grew or went to another thread meanwhile.
  bool Run() {
    CopyOpenRanges();
    if (!CopySlots()) return false;
    RemoveClosed();
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    RingHeader after;
    std::memcpy(&after, ring_, sizeof(after));
    return after.magic == capture::kRingMagic && after.thread_index == copy_.header.thread_index;
  }

 private:
  // Taken between two records, so that open ranges and records are consistent.
  void CopyOpenRanges() {
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      std::memcpy(&copy_.header, ring_, sizeof(copy_.header));
      copy_.header.head = HeadOf(ring_);
      const auto* depth_at =
          reinterpret_cast<const uint32_t*>(ring_ + offsetof(RingHeader, open_depth));
      const uint32_t depth =
          std::min(__atomic_load_n(depth_at, __ATOMIC_ACQUIRE), capture::kMaxOpenRanges);
      copy_.open.resize(depth);
      if (depth > 0) {
        std::memcpy(copy_.open.data(), ring_ + capture::kOpenRangesOffset, depth * sizeof(Record));
      }
      __atomic_thread_fence(__ATOMIC_ACQUIRE);
      // A ring may grow; its size is at least that of the moment when the head was read.
      copy_.header.capacity = LoadPosition(ring_, offsetof(RingHeader, capacity));
      if (HeadOf(ring_) == copy_.header.head) return;
    }
  }

  // Slots that the drain thread has released meanwhile may hold newer records; their old content is
  // in the segments.
  bool CopySlots() {
    RingHeader& header = copy_.header;
    if (!std::has_single_bit(header.capacity) || header.capacity > most_slots_) return false;
    const uint64_t mask = header.capacity - 1;
    const std::byte* slots = ring_ + capture::kRingDataOffset;
    header.tail = TailOf(ring_);
    if (header.tail >= header.head) {  // all drained since the head was read
      header.tail = header.head;
      return true;
    }
    if (header.head - header.tail > header.capacity) return false;
    copy_.slots.reserve(header.head - header.tail);
    for (uint64_t slot = header.tail; slot < header.head; ++slot) {
      copy_.slots.push_back(SlotAt(slots, slot & mask));
    }
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    const uint64_t given_back = std::min(TailOf(ring_), header.head) - header.tail;
    copy_.slots.erase(copy_.slots.begin(),
                      copy_.slots.begin() + static_cast<std::ptrdiff_t>(given_back));
    header.tail += given_back;
    return true;
  }

  // Places of filtered ranges, and one range whose record was written just before the end.
  void RemoveClosed() {
    std::erase_if(copy_.open, [&](const Record& record) {
      return capture::KindOf(record) == capture::RecordKind::kNone ||
             capture::HasEnded(record, copy_.header.head);
    });
    for (Record& record : copy_.open) record.dur_kind |= capture::kUnfinished;
  }

  const std::byte* ring_;
  const uint64_t most_slots_;  // capacity of the mapping
  RingCopy& copy_;
};

RingCopy::State StateOf(const base::MappedFile& file) {
  using State = RingCopy::State;
  if (file.size() < capture::kRingDataOffset) return State::kTruncated;
  RingHeader header;
  std::memcpy(&header, file.data(), sizeof(header));
  if (header.magic == 0) return State::kBeingMade;
  const Positions at = PositionsOf(file.data());
  header.capacity = LoadPosition(file.data(), offsetof(RingHeader, capacity));
  const bool fits = header.magic == capture::kRingMagic &&
                    header.version == capture::kFormatVersion &&
                    std::has_single_bit(header.capacity) && header.capacity <= kMaxRingSlots &&
                    file.size() >= capture::kRingDataOffset + header.capacity * sizeof(Record);
  if (!fits) return State::kGarbled;
  const bool ordered = at.tail <= at.head && at.head - at.tail <= header.capacity;
  return ordered ? State::kGood : State::kGarbled;
}

// Copies the ring once more where it grew or got another thread while it was read: the records of
// the thread before are in the segments then.
Status CopyRing(const std::string& path, RingCopy* copy) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    SONDE_ASSIGN_OR_RETURN(const base::MappedFile file, base::MappedFile::Open(path));
    *copy = {};
    copy->file = base::BaseName(path);
    copy->file_size = file.size();
    copy->state = StateOf(file);
    if (copy->state == RingCopy::State::kGarbled) {
      const auto now = base::MappedFile::Open(path);
      if (now.ok() && now->size() != file.size()) continue;
    }
    if (copy->state != RingCopy::State::kGood || Copier(file, *copy).Run()) return {};
  }
  *copy = {};
  copy->file = base::BaseName(path);
  return {};
}

}  // namespace

std::vector<RingCopy> CopyRings(const std::vector<std::string>& files,
                                store::ImportIssues& issues) {
  std::vector<RingCopy> copies;
  for (const std::string& path : files) {
    RingCopy copy;
    const Status status = CopyRing(path, &copy);
    if (status.ok()) {
      copies.push_back(std::move(copy));
    } else if (!IsGone(path, status)) {
      CountUnreadable(base::BaseName(path), status, issues);
    }
  }
  return copies;
}

}  // namespace sonde::importers::capture_import
