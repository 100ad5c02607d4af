// `sonde probe compare`: from two paths to result files.
//
// Errors: anything that keeps the whole job from being done is a Status; a rank that cannot be
// compared in a job of many is reported in the outcome and the others go on.
// Threads: called from one, works in parallel inside.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "precision/mapping/pairing_setup.h"
#include "precision/output/conclusion.h"
#include "precision/output/summary.h"
#include "precision/tensor/tensor_comparison.h"

namespace sonde::precision {

struct CompareOptions {
  std::string target_path;
  std::string golden_path;
  std::string output_path = "./output";
  std::string stack_path;  // empty: stack.json next to the target
  bool xlsx = false;
  bool fuzzy_match = false;
  Engine engine = Engine::kNone;  // the target is this training engine, the golden side inference
  bool analyze_difference = false;
  bool reference_summary = false;  // the first bad row by the reference's thresholds instead
  bool log_tensors = false;
  bool store = false;                    // also write a store that `sonde query` reads
  std::vector<std::string> sql_metrics;  // "name=expression", any mode
  MappingOptions mapping;
  std::string calibration_path;           // empty: none
  std::vector<std::string> metric_paths;  // shared libraries, tensor mode
};

// The outcome of one pair of ranks.
struct PairOutcome {
  std::string target;
  std::string golden;
  std::string mode;  // "statistics", "tensor", "md5"
  Status status;     // why there is no result
  Summary summary;
  PairFinding finding;  // its cause is without rows
  std::string summary_text;
  std::string cause_rows;    // its part about the call where the runs differ
  TensorFileIssues tensors;  // tensor mode
  std::vector<std::string> files;
  std::vector<std::string> notes;
  std::vector<std::string> log;  // one line a tensor, when asked for
};

struct CompareOutcome {
  std::vector<PairOutcome> pairs;
  std::vector<std::string> notes;
  std::vector<std::string> first_differences;  // "rank 0: Functional.conv2d.0.forward"
  std::vector<std::string> files;              // of all ranks together
  bool has_conclusion = false;  // false: the summary is the reference's, or two engines
  Conclusion conclusion;        // of all pairs
};

// Fails when nothing could be compared.
Result<CompareOutcome> RunCompare(const CompareOptions& options);

}  // namespace sonde::precision
