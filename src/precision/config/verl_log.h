// The configuration that verl prints into its log when training begins, as a Python dict or as JSON
// over many lines, each behind the mark of the process that printed it:
//
//   (TaskRunner pid=7) {'actor_rollout_ref': {'actor': {'clip_ratio': 0.2,
//   (TaskRunner pid=7)                                  'grad_clip': 1.0},
//
// Of several the last counts. Lines of other processes in between are passed over.
// Errors: a log without a configuration or with one that is not complete; files of other endings
// than .log and .txt (a benchmark: .yaml). Threads: pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "precision/config/python_value.h"

namespace sonde::precision {

Result<PythonValue> ParseVerlLog(std::string_view log);

struct VerlOutcome {
  std::vector<std::string> files;
  uint64_t parameters = 0;
  uint64_t differ = 0;
};

// Two runs: NPU_config.json, bench_config.json and hyper_params_compare.csv in `output_path`.
Result<VerlOutcome> CompareVerlLogs(const std::string& target, const std::string& golden,
                                    const std::string& output_path);

// One run against what a benchmark demands, or (empty path) against what training and inference
// need to agree: tgt_config.json and hyper_params_verify.csv.
Result<VerlOutcome> VerifyVerlLog(const std::string& benchmark, const std::string& target,
                                  const std::string& output_path);

}  // namespace sonde::precision
