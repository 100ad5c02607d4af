// The recording fast path: the code of each range while recording. Internal, not part of the stable
// interface; for src/record itself and for adapters that are built and shipped with it.
//
// How a record is made. Each thread owns a ring (RingWriter, reached by one initial-exec TLS
// pointer). `word` of the ring equals sonde_features_ exactly while the ring belongs to the session
// that records now, so that one compare answers "recording, and into this ring". A range is kept in
// the ring's open stack until it ends, then becomes one 32-byte slot. Nothing here allocates,
// locks, calls the system or waits, with one exception: a ring begins small and grows to its size
// when a thread has filled it for the first time. A full ring drops the record and counts it.
//
// Why stopping is safe. The owner sets `busy` before it compares `word` with sonde_features_ and
// clears it (release) after its record is committed. A stopper clears sonde_features_, makes every
// thread of the process pass a memory barrier (membarrier system call), and then waits until each
// ring's `busy` has been seen 0. After that no owner can be between compare and commit, and none
// can get there, because its compare would fail. So the stopper may read every slot and unmap the
// ring. The owner thus pays two plain stores and no fence.
//
// Threads: each function works on the calling thread's ring; not in signal handlers. Times: ticks.
#ifndef SONDE_RECORD_FAST_PATH_H_
#define SONDE_RECORD_FAST_PATH_H_

#include <atomic>
#include <cstdint>
#include <cstring>

#include "capture/format.h"
#include "sonde/sonde.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace sonde::record {

using capture::Record;
using capture::RecordKind;

struct alignas(64) RingWriter {
  std::atomic<uint32_t> word{0};  // value of sonde_features_ this ring records under; 0: none
  std::atomic<uint32_t> busy{0};  // 1 while the owner is between the check and the commit
  uint32_t open_depth = 0;        // as in the ring header, owner's copy
  uint32_t thread_index = 0;
  Record* slots = nullptr;
  Record* open = nullptr;
  capture::RingHeader* header = nullptr;
  uint64_t mask = 0;         // capacity - 1
  uint64_t head = 0;         // as in the ring header, owner's copy
  uint64_t limit = 0;        // slots up to here are known to be free
  uint64_t next_id = 0;      // for span and flow ids
  uint32_t use_counter = 0;  // 1: read the processor's counter; 0: ask the system
  uint32_t orphan_pops = 0;  // pops without a push
  void* state = nullptr;     // the recorder's own bookkeeping
};

}  // namespace sonde::record

extern "C" {
extern SONDE_API __thread sonde::record::RingWriter* sonde_ring_
    __attribute__((tls_model("initial-exec")));
// Gives the calling thread a ring of the session whose word is given, or nullptr.
SONDE_API sonde::record::RingWriter* sonde_ring_acquire_(uint32_t word);
SONDE_API uint64_t sonde_ticks_slow_(void);
// Whether the ring has room for `count` slots, where its known room is used up: looks at the drain
// thread's tail, makes a small ring large, and counts a record as dropped. ring must be busy.
SONDE_API bool sonde_ring_room_(sonde::record::RingWriter* ring, uint64_t count);
// Ends an open range of the given kinds that is not on top: the one with `above` others of these
// kinds above it, at `end_ticks`, now where that is 0. ring must be busy.
SONDE_API void sonde_pop_misplaced_(sonde::record::RingWriter* ring, uint64_t kinds, uint32_t above,
                                    uint64_t end_ticks);
}

namespace sonde::record {

#define SONDE_LIKELY(x) __builtin_expect(!!(x), 1)
#define SONDE_UNLIKELY(x) __builtin_expect(!!(x), 0)
// A record is to cost no call, whatever the compiler thinks of the size.
#define SONDE_INLINE inline __attribute__((always_inline))

// Sets of RecordKind (below 32) that one pop may end. Ranges of users, steps and ranges of adapters
// each nest by themselves; a pop that finds another set on top searches below it.
inline constexpr uint64_t kUserKinds = (1u << 0) | (1u << static_cast<int>(RecordKind::kRange));
inline constexpr uint64_t kStepKinds = 1u << static_cast<int>(RecordKind::kStep);
inline constexpr uint64_t kAdapterKinds = 0xffffffffu & ~(kUserKinds | kStepKinds);

SONDE_INLINE uint64_t Ticks(bool use_counter) {
#if defined(__x86_64__)
  if (SONDE_LIKELY(use_counter)) return __rdtsc();
#elif defined(__aarch64__)
  if (SONDE_LIKELY(use_counter)) {
    uint64_t ticks;
    asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
  }
#endif
  return sonde_ticks_slow_();
}

SONDE_INLINE uint32_t SessionWord() { return __atomic_load_n(&sonde_features_, __ATOMIC_RELAXED); }

// Enters the recording section: the ring if this thread may record now (then Leave must follow),
// else nullptr. `create` false: do not make a ring for a thread that has none.
SONDE_INLINE RingWriter* Enter(uint32_t word, bool create) {
  RingWriter* ring = sonde_ring_;
  if (SONDE_UNLIKELY(ring->word.load(std::memory_order_relaxed) != word)) {
    if (!create) return nullptr;
    ring = sonde_ring_acquire_(word);
    if (ring == nullptr) return nullptr;
  }
  ring->busy.store(1, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);  // the stopper's membarrier does the rest
  if (SONDE_UNLIKELY(SessionWord() != word)) {
    ring->busy.store(0, std::memory_order_release);
    return nullptr;
  }
  return ring;
}

SONDE_INLINE void Leave(RingWriter* ring) { ring->busy.store(0, std::memory_order_release); }

// Room for `count` slots at head?
SONDE_INLINE bool HasRoom(RingWriter* ring, uint64_t count) {
  if (SONDE_LIKELY(ring->head + count <= ring->limit)) return true;
  return sonde_ring_room_(ring, count);
}

// Prefetches the next slots into the cache for writing: the ring is larger than the caches
// near the processor, and the next record is a hundred times further away than its memory.
inline constexpr uint64_t kPrefetchSlots = 16;

SONDE_INLINE void CommitSlots(RingWriter* ring, uint64_t count) {
  ring->head += count;
  __builtin_prefetch(&ring->slots[(ring->head + kPrefetchSlots) & ring->mask], 1, 3);
  __atomic_store_n(&ring->header->head, ring->head, __ATOMIC_RELEASE);
}

SONDE_INLINE void CommitRecord(RingWriter* ring, const Record& record) {
  if (!HasRoom(ring, 1)) return;
  ring->slots[ring->head & ring->mask] = record;
  CommitSlots(ring, 1);
}

SONDE_INLINE uint64_t DurKind(uint64_t start_ticks, uint64_t end_ticks) {
  const auto dur = static_cast<int64_t>(end_ticks - start_ticks);
  if (SONDE_UNLIKELY(dur < 0)) return 0;
  const auto ticks = static_cast<uint64_t>(dur);
  return SONDE_LIKELY(ticks < capture::kDurationMask) ? ticks : capture::kDurationMask - 1;
}

// To be called before the record of an open range is committed (capture::HasEnded).
SONDE_INLINE void MarkEnd(RingWriter* ring, Record* open) {
  open->dur_kind |= (ring->head + 1) & capture::kDurationMask;
}

SONDE_INLINE void SetDepth(RingWriter* ring, uint32_t depth) {
  ring->open_depth = depth;
  __atomic_store_n(&ring->header->open_depth, depth, __ATOMIC_RELEASE);
}

// Opens a range on the calling thread. sequence -1: none. False: not recording.
SONDE_INLINE bool PushOpen(uint32_t word, RecordKind kind, uint32_t domain, uint32_t name,
                           uint32_t args, uint32_t link, int32_t sequence) {
  RingWriter* ring = Enter(word, true);
  if (SONDE_UNLIKELY(ring == nullptr)) return false;
  const uint32_t depth = ring->open_depth;
  if (SONDE_LIKELY(depth < capture::kMaxOpenRanges)) {
    Record& open = ring->open[depth];
    open.dur_kind = capture::PackDurKind(0, kind, static_cast<uint8_t>(domain));
    open.name = name;
    open.args = args;
    open.link = link;
    open.sequence = sequence;
    open.ticks = Ticks(ring->use_counter != 0);
  } else {
    __atomic_store_n(&ring->header->dropped, ring->header->dropped + 1, __ATOMIC_RELAXED);
  }
  SetDepth(ring, depth + 1);
  Leave(ring);
  return true;
}

// Ends the innermost open range of the kinds given. Nothing open: ignored and counted.
SONDE_INLINE void PopOpen(uint32_t word, uint64_t kinds) {
  RingWriter* ring = Enter(word, false);
  if (SONDE_UNLIKELY(ring == nullptr)) return;
  const uint64_t end_ticks = Ticks(ring->use_counter != 0);
  const uint32_t depth = ring->open_depth;
  if (SONDE_LIKELY(depth - 1 < capture::kMaxOpenRanges)) {
    Record& open = ring->open[depth - 1];
    const auto kind = static_cast<uint32_t>(capture::KindOf(open));
    if (SONDE_LIKELY((kinds >> kind) & 1)) {
      if (SONDE_LIKELY(kind != 0)) {
        Record record = open;
        record.dur_kind += DurKind(open.ticks, end_ticks);
        MarkEnd(ring, &open);
        CommitRecord(ring, record);
      }
      SetDepth(ring, depth - 1);
    } else {
      sonde_pop_misplaced_(ring, kinds, 0, 0);
    }
  } else if (depth == 0) {
    ++ring->orphan_pops;
  } else {
    SetDepth(ring, depth - 1);  // was beyond the stack: counted as dropped when it was opened
  }
  Leave(ring);
}

// Ends the range that its owner means, which is below `above` others of these kinds: scopes of two
// tasks of one thread cross, and each has an end of its own: `end_ticks`, 0 is now.
inline void PopBelow(uint32_t word, uint64_t kinds, uint32_t above, uint64_t end_ticks = 0) {
  RingWriter* ring = Enter(word, false);
  if (ring == nullptr) return;
  if (ring->open_depth > capture::kMaxOpenRanges) {
    SetDepth(ring, ring->open_depth - 1);  // which of them it is is unknown
  } else {
    sonde_pop_misplaced_(ring, kinds, above, end_ticks);
  }
  Leave(ring);
}

// For adapters. `word` is SessionWord() as read once by the caller, not 0.
SONDE_INLINE void PopClose(uint32_t word) { PopOpen(word, kAdapterKinds); }

// A range that is already over, timed by the caller with RecorderTicks().
SONDE_INLINE void EmitComplete(uint32_t word, RecordKind kind, uint32_t domain, uint32_t name,
                               uint32_t args, uint32_t link, int32_t sequence, uint64_t start_ticks,
                               uint64_t end_ticks) {
  RingWriter* ring = Enter(word, true);
  if (SONDE_UNLIKELY(ring == nullptr)) return;
  CommitRecord(ring, Record{start_ticks,
                            capture::PackDurKind(DurKind(start_ticks, end_ticks), kind,
                                                 static_cast<uint8_t>(domain)),
                            name, args, link, sequence});
  Leave(ring);
}

// An instant at this moment.
SONDE_INLINE void EmitInstant(uint32_t word, RecordKind kind, uint32_t domain, uint32_t name,
                              uint32_t args, uint32_t link, int32_t sequence) {
  RingWriter* ring = Enter(word, true);
  if (SONDE_UNLIKELY(ring == nullptr)) return;
  CommitRecord(ring, Record{Ticks(ring->use_counter != 0),
                            capture::PackDurKind(0, kind, static_cast<uint8_t>(domain)), name, args,
                            link, sequence});
  Leave(ring);
}

SONDE_INLINE void EmitMemory(uint32_t word, const sonde_memory_event& event) {
  RingWriter* ring = Enter(word, true);
  if (SONDE_UNLIKELY(ring == nullptr)) return;
  if (HasRoom(ring, 2)) {
    const uint64_t device = (uint64_t{event.device_type} << 8) | event.device_index;
    const capture::MemoryHead head{Ticks(ring->use_counter != 0),
                                   capture::PackDurKind(device, RecordKind::kMemory, 0),
                                   event.pointer, event.size_bytes};
    const capture::MemoryTail tail{event.total_allocated, event.total_reserved, event.total_active,
                                   event.stream};
    std::memcpy(&ring->slots[ring->head & ring->mask], &head, sizeof(head));
    std::memcpy(&ring->slots[(ring->head + 1) & ring->mask], &tail, sizeof(tail));
    CommitSlots(ring, 2);
  }
  Leave(ring);
}

// The recorder's clock, for EmitComplete.
inline uint64_t RecorderTicks() { return Ticks(sonde_ring_->use_counter != 0); }

}  // namespace sonde::record

#endif  // SONDE_RECORD_FAST_PATH_H_
