// `sonde probe merge`: the results of many ranks side by side, one sheet a metric.
//
// Errors: anything that keeps the whole job from being done is a Status; a file that does not fit
// the others is noted and left out. Threads: reads the files in parallel.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace sonde::precision {

struct MergeOptions {
  std::string input_path;   // a folder with compare_result_rank<N>_<time>.csv or .xlsx
  std::string output_path;  // a folder
  std::string config_path;  // yaml: api: [...], compare_index: [...] (empty: all)
};

struct MergeOutcome {
  std::string file;
  uint64_t ranks = 0;
  uint64_t rows = 0;
  std::vector<std::string> notes;
};

Result<MergeOutcome> MergeResults(const MergeOptions& options);

}  // namespace sonde::precision
