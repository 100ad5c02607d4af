// `sonde probe overflow_check`: the first calls of a step whose inputs are finite and whose outputs
// are not, over all ranks.
//
// Looks at Max and Min only: a mean or norm may overflow although every element is finite.
// Errors: anything that keeps the whole job from being done is a Status; a rank that cannot be read
// in a job of many is noted and the others go on.
// Threads: one.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace sonde::precision {

struct OverflowOutcome {
  std::vector<std::string> found;  // "rank 0: Tensor.__mul__.34.forward"
  std::string file;                // anomaly_analyze_<time>.json; empty: nothing found
  std::vector<std::string> notes;
};

Result<OverflowOutcome> FindFirstOverflow(const std::string& input_path,
                                          const std::string& output_path);

}  // namespace sonde::precision
