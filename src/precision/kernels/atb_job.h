// `sonde probe compare -m atb`: two dumps of Ascend's transformer library, each a folder with a
// statistic.csv, with tensors or with statistics alone.
//
// Rows pair by operation, its number, direction and index; rows that only one run has are counted.
// Errors: anything that keeps the job from being done is a Status; a tensor that cannot be read has
// N/A in its row. Threads: works in parallel inside.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace sonde::precision {

struct AtbOptions {
  std::string target_path;
  std::string golden_path;
  std::string output_path;
};

struct AtbOutcome {
  std::string file;
  bool tensors = false;
  uint64_t rows = 0;
  uint64_t target_only = 0;
  uint64_t golden_only = 0;
  uint64_t unreadable = 0;  // rows with a tensor that cannot be read
  std::string first_unreadable;
};

Result<AtbOutcome> CompareAtb(const AtbOptions& options);

}  // namespace sonde::precision
