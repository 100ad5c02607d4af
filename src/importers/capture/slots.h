// The records of a capture by thread: chunks of segment files and the rest in rings.
//
// Pieces whose checksum fails are left out and counted; a slot that both a segment and a ring hold
// is delivered once. Slots are views into mapped files and copies of rings, which the object owns;
// they may be unaligned. One thread builds it, any may read it.
//
// The capture may still be written to (ring_copy.h defines the order of reading).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/status.h"
#include "capture/format.h"
#include "importers/capture/ring_copy.h"
#include "store/import_issues.h"

namespace sonde::importers::capture_import {

struct SlotRun {
  uint64_t first_slot = 0;  // position in the thread's ring since the session began
  uint32_t count = 0;
  const std::byte* slots = nullptr;
};

struct ThreadSlots {
  uint32_t thread_index = 0;
  std::vector<SlotRun> runs;          // ascending, without overlap
  std::vector<capture::Record> open;  // ranges that had not ended
  uint64_t dropped = 0;               // records lost because the ring was full
  uint64_t missing = 0;               // slots lost between the first and the last delivered
};

struct SegmentFile {
  std::string name;  // without the folder
  base::MappedFile bytes;
};

// The records of a capture as files hold them.
struct SlotFiles {
  std::vector<RingCopy> rings;
  std::vector<SegmentFile> segments;
};

struct CaptureSlots {
  SlotFiles files;
  std::vector<ThreadSlots> threads;  // by index, ascending
};

// Errors: a file that is gone. One that cannot be opened is counted.
Result<std::vector<SegmentFile>> OpenSegments(const std::vector<std::string>& files,
                                              store::ImportIssues& issues);

// Bad content is no error: unreadable parts become issues.
CaptureSlots ReadSlots(SlotFiles files, uint64_t session_id, store::ImportIssues& issues);

}  // namespace sonde::importers::capture_import
