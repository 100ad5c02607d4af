// Byte layout of Sonde's capture files, shared by the recorder (writer) and the importer (reader).
//
// A capture is the folder <span>/SONDE of one process and one session:
//
//   dictionary_000001.sonde  names, argument sets, stacks, threads, metadata, clock samples
//   events_000001.sonde ...  segments of record chunks, in the order in which they were drained
//   ring_<number>.sonde      live ring buffer of a thread; removed when the session ends cleanly
//
// All files are append-only or memory mapped, little-endian, and valid at every moment: a reader
// takes whole, checksummed pieces and counts cut ones. After a crash the ring files still hold
// records that the drain thread had not yet copied, and the ranges that were open.
// A mode that keeps only the last N seconds deletes old segments; segments refer only to the
// dictionary, never to each other. A dictionary may be continued in a file with the next number.
//
// Times are ticks of the clock named in the file header (TSC, or CLOCK_MONOTONIC_RAW ns where the
// TSC is not usable). Clock samples in the dictionary tie ticks to wall-clock nanoseconds.
// The whole format is described for other implementers in docs/capture-format.md.
#ifndef SONDE_CAPTURE_FORMAT_H_
#define SONDE_CAPTURE_FORMAT_H_

#include <cstddef>
#include <cstdint>

#include "capture/kinds.h"

namespace sonde::capture {

inline constexpr uint32_t kFormatVersion = 1;
inline constexpr uint64_t kDictionaryMagic = 0x3130434944444e53;  // "SNDDIC01"
inline constexpr uint64_t kSegmentMagic = 0x3130474553444e53;     // "SNDSEG01"
inline constexpr uint64_t kRingMagic = 0x31304e4952444e53;        // "SNDRIN01"
inline constexpr uint32_t kChunkMagic = 0x4b484353;               // "SCHK"

enum class ClockKind : uint32_t { kTsc = 1, kMonotonicRawNs = 2 };

// First 64 bytes of a dictionary and of a segment file.
struct FileHeader {
  uint64_t magic;
  uint32_t version;
  uint32_t file_number;  // from 1, as in the file name
  uint64_t session_id;   // equal in all files of one capture
  uint32_t pid;
  ClockKind clock_kind;
  int64_t created_realtime_ns;
  uint64_t reserved[2];
  uint32_t reserved32;
  uint32_t header_crc;  // CRC-32C of the 60 bytes before
};
static_assert(sizeof(FileHeader) == 64);

// A segment is a FileHeader and then chunks, each a ChunkHeader and slot_count records. A chunk may
// have no slots: it then only reports dropped_total. When a session ends cleanly or a thread ends,
// ranges still open on the thread follow as its last chunk, with kUnfinished as duration.
struct ChunkHeader {
  uint32_t magic;
  uint32_t thread_index;   // key of a kThread dictionary entry
  uint64_t first_slot;     // ring position of the first slot: continuous per thread unless dropped
  uint32_t slot_count;     // payload is slot_count * 32 bytes
  uint32_t payload_crc;    // CRC-32C of the payload
  uint64_t dropped_total;  // records of this thread dropped since the session began
  uint64_t min_ticks;      // over the records of the chunk; for skipping and for age
  uint64_t max_ticks;
  uint64_t reserved;
  uint32_t reserved32;
  uint32_t header_crc;  // CRC-32C of the 60 bytes before
};
static_assert(sizeof(ChunkHeader) == 64);

// One slot of 32 bytes. Fields that a kind does not use are zero (sequence: -1).
struct Record {
  uint64_t ticks;     // start of a range, moment of an instant
  uint64_t dur_kind;  // bits 0..47 duration in ticks, 48..55 RecordKind, 56..63 domain id
  uint32_t name;      // dictionary id, 0 = none
  uint32_t args;      // dictionary id of an argument set, 0 = none
  uint32_t link;      // stack id, or what the kind defines
  int32_t sequence;   // sequence number or step number, -1 = none
};
static_assert(sizeof(Record) == 32);

inline constexpr uint64_t kDurationMask = (uint64_t{1} << 48) - 1;
inline constexpr uint64_t kUnfinished =
    kDurationMask;  // a range that was open when recording ended

constexpr uint64_t PackDurKind(uint64_t dur_ticks, RecordKind kind, uint8_t domain) {
  return (dur_ticks < kDurationMask ? dur_ticks : kDurationMask - 1) |
         (uint64_t{static_cast<uint8_t>(kind)} << 48) | (uint64_t{domain} << 56);
}
constexpr RecordKind KindOf(const Record& r) {
  return static_cast<RecordKind>((r.dur_kind >> 48) & 0xff);
}
constexpr uint8_t DomainOf(const Record& r) { return static_cast<uint8_t>(r.dur_kind >> 56); }
constexpr uint64_t DurationTicks(const Record& r) { return r.dur_kind & kDurationMask; }

// kMemory, slot 0: same offsets of ticks and dur_kind; the duration bits hold the device
// (type << 8 | index, torch's device type codes), the rest pointer and signed size in bytes
// (negative: freed).
struct MemoryHead {
  uint64_t ticks;
  uint64_t dur_kind;
  uint64_t pointer;
  int64_t size_bytes;
};
// kMemory, slot 1. Totals in bytes after the event, -1 where the allocator does not report them.
struct MemoryTail {
  int64_t total_allocated;
  int64_t total_reserved;
  int64_t total_active;
  uint64_t stream;
};
static_assert(sizeof(MemoryHead) == 32 && sizeof(MemoryTail) == 32);

constexpr uint32_t SlotCount(RecordKind kind) { return kind == RecordKind::kMemory ? 2 : 1; }

// An entry of a dictionary file: this head, then `length` bytes, padded with zeros to 8.
struct EntryHead {
  uint32_t crc;     // CRC-32C of the head after this field and of the unpadded payload
  uint16_t type;    // EntryType
  uint16_t flags;   // zero
  uint32_t id;      // meaning depends on the type
  uint32_t length;  // bytes of payload
};
static_assert(sizeof(EntryHead) == 16);

enum class EntryType : uint16_t {
  kName = 1,         // id = name id; payload = UTF-8 text
  kDomain = 2,       // id = domain id (1..255; 0 is "default"); payload = text
  kArgs = 3,         // id = argument set id; payload = ArgField sequence (capture/args.h)
  kFrame = 4,        // id = frame id; payload = u32 function name id, u32 file name id, u32 line
  kStack = 5,        // id = stack id; payload = u32 frame ids, innermost first
  kThread = 6,       // id = thread index; payload = u32 tid, u32 framework thread number, text name
  kMetadata = 7,     // id = name id of the key; payload = JSON text; a later entry replaces
  kClockSample = 8,  // id = 0; payload = ClockSampleEntry
  kSessionEnd = 9,   // id = StopReason; payload = u64 dropped records, text message
  kProcess = 10,     // id = parent pid; payload = command line, separated by NUL
  kIssue = 11,       // id = 0; payload = text of a problem met while recording
};

struct ClockSampleEntry {
  uint64_t ticks;
  int64_t monotonic_raw_ns;
  int64_t realtime_ns;
  int64_t uncertainty_ns;  // width of the bracket in which the sample was taken
};

enum class StopReason : uint32_t {
  kStopped = 1,
  kExit = 2,
  kDiskFull = 3,
  kError = 4,
  kFork = 5,
  kLimit = 6,  // max_bytes of the session
};

// A ring file: RingHeader, then kMaxOpenRanges OpenRange, then capacity slots of 32 bytes. The
// owner thread writes `head`, `dropped`, `open_depth` and the slots; the drain thread `tail`. Slots
// [tail, head) modulo capacity are valid and not yet in a segment, unless a chunk of this thread
// already holds them (the drain thread died between the two writes). A ring whose magic is not set
// yet was just being made and holds nothing.
struct RingHeader {
  uint64_t magic;
  uint32_t version;
  uint32_t thread_index;
  uint64_t session_id;
  uint32_t pid;
  uint32_t tid;
  uint64_t capacity;  // slots, a power of two; may grow while no slot has been used twice
  uint64_t reserved0[3];
  // offset 64: written by the owner
  uint64_t head;
  uint64_t dropped;
  uint32_t open_depth;  // ranges open now; may exceed kMaxOpenRanges (the rest is not stored)
  uint32_t reserved1;
  uint64_t reserved2[5];
  // offset 128: written by the drain thread
  uint64_t tail;
  uint64_t reserved3[7];
};
static_assert(sizeof(RingHeader) == 192);
static_assert(offsetof(RingHeader, head) == 64 && offsetof(RingHeader, tail) == 128);

inline constexpr uint32_t kMaxOpenRanges = 1024;
inline constexpr size_t kRingDataOffset = 4096 + kMaxOpenRanges * sizeof(Record);
// An open range is a Record whose duration is not yet known; entry 0 is the outermost. The array
// begins at kOpenRangesOffset; entries below min(open_depth, kMaxOpenRanges) are valid. Entries of
// kind kNone hold the place of ranges that were filtered out. Closing a range puts the head that
// follows its record into the entry's duration, commits the record and lowers open_depth. Whenever
// the process is killed, HasEnded shows whether the record is there. Times cannot: ranges of one
// name begin at one tick where the clock is coarse (40 ns on some Arm processors).
inline constexpr size_t kOpenRangesOffset = 4096;
constexpr bool HasEnded(const Record& open, uint64_t head) {
  return DurationTicks(open) != 0 && DurationTicks(open) == (head & kDurationMask);
}

}  // namespace sonde::capture

#endif  // SONDE_CAPTURE_FORMAT_H_
