// The older way of naming the paths of a comparison: a JSON file with npu_path, bench_path,
// stack_path, is_print_compare_log.
//
// Errors: a Status that names the file and the key.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "precision/compare_job.h"

namespace sonde::precision {

// Sets those `options` that the file names. Unknown keys are reported in `notes`, a line each.
Status ReadCompareInput(const std::string& path, CompareOptions* options,
                        std::vector<std::string>* notes);

}  // namespace sonde::precision
