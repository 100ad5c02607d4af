// `sonde probe compare`: from two paths to result files.
//
// Errors: anything that keeps the whole job from being done is a Status; a rank that cannot be
// compared in a job of many is reported in the outcome and the others go on.
// Threads: called from one, works in parallel inside.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "precision/output/summary.h"
#include "precision/tensor/tensor_comparison.h"

namespace sonde::precision {

struct CompareOptions {
  std::string target_path;
  std::string golden_path;
  std::string output_path = "./output";
  // Where the golden run's and the target's stacks are; empty: stack.json beside the target.
  std::string stack_path;
  bool xlsx = false;
  bool fuzzy_match = false;
  bool analyze_difference = false;
  bool log_tensors = false;
};

// What became of one pair of ranks.
struct PairOutcome {
  std::string target;
  std::string golden;
  std::string mode;  // "statistics", "tensor", "md5"
  Status status;     // why there is no result
  Summary summary;
  std::string summary_text;
  std::vector<std::string> files;
  TensorFileIssues tensors;  // tensor mode
};

struct CompareOutcome {
  std::vector<PairOutcome> pairs;
  std::vector<std::string> notes;
};

// Fails when nothing could be compared.
Result<CompareOutcome> RunCompare(const CompareOptions& options);

}  // namespace sonde::precision
