// The arguments that a training program of slime prints into its log, of two runs side by side.
//
//   ------------------------ arguments ------------------------
//     lr .............................................. 1e-06
//   -------------------- end of arguments ---------------------
//
// Errors: a log without such a block, of another ending than .log or .txt. Threads: pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace sonde::precision {

struct LogArgument {
  std::string name;
  std::string text;
  enum class Kind : uint8_t { kText, kBool, kInt, kFloat } kind = Kind::kText;
};

// In the order of the log; of arguments that occur twice the last.
Result<std::vector<LogArgument>> ParseLogArguments(std::string_view log);

struct LogComparison {
  std::vector<std::string> files;
  uint64_t arguments = 0;
  uint64_t differ = 0;
};
// Writes NPU_config.json, bench_config.json and hyper_params_compare.csv into `output_path`.
Result<LogComparison> CompareLogArguments(const std::string& target, const std::string& golden,
                                          const std::string& output_path);

}  // namespace sonde::precision
