// `sonde probe acc_check`: judges what running every call of a dump by itself has measured.
//
// The measurements are the lines that `python3 -m sonde.torch.check` writes (one JSON object for
// each result and gradient: its distance from the same call in double precision, and the operands).
// A result is explained by rounding while that distance stays below the tolerance of
// cause/tolerance.h, of the operands in the device's types, plus one rounding to its own type.
// Whole numbers that differ where the call's floats agree are other places of equal values (topk,
// max). Results of random functions are not judged.
//
// Errors: a file that cannot be read or written is a Status; a broken line is counted. Threads:
// one.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/status.h"

namespace sonde::precision {

struct ApiCheckOutcome {
  size_t calls = 0;      // that were run
  size_t results = 0;    // results and gradients that were judged
  size_t explained = 0;  // by rounding
  size_t random = 0;     // of random functions
  size_t not_run = 0;    // calls
  size_t broken_lines = 0;
  std::string first_not_run;         // "Tensor.to.0: API to in black list ..."
  std::vector<std::string> differs;  // in words, the furthest off first
};

// Reads `numbers_path`, writes the table `csv_path`.
Result<ApiCheckOutcome> JudgeApiCheck(const std::string& numbers_path, const std::string& csv_path);

}  // namespace sonde::precision
