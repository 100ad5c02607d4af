// The content of a ring buffer at one moment, copied while the program may still write to it.
//
// Rings are to be copied before segments are opened, and both before the dictionary is read. The
// drain thread moves records from rings to segments, and a text is in the dictionary before the
// first record that refers to it. In that order no record is missed or misread.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/status.h"
#include "capture/format.h"
#include "store/import_issues.h"

namespace sonde::importers::capture_import {

struct RingCopy {
  enum class State {
    kGood,
    kBeingMade,  // no header yet: nothing was recorded
    kTruncated,  // shorter than in its header
    kGarbled,    // its header is invalid
  };
  std::string file;  // its name without the folder
  State state = State::kBeingMade;
  size_t file_size = 0;
  capture::RingHeader header{};        // head and tail give the positions of `slots`
  std::vector<capture::Record> slots;  // [tail, head)
  std::vector<capture::Record> open;   // ranges open at `head`, outermost first
};

// A missing file is no error: a ring is removed with its thread, when segments hold its records.
// One that cannot be opened is counted.
std::vector<RingCopy> CopyRings(const std::vector<std::string>& files, store::ImportIssues& issues);

}  // namespace sonde::importers::capture_import
