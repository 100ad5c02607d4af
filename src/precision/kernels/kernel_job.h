// `sonde probe compare --rank`: two MindSpore dumps kernel by kernel, a table a rank and step.
//
// Kernels pair by name, task, direction, slot and, where one occurs several times, by order.
// Tensors are judged by cosine and largest difference, statistics by the difference of the maxima.
// Errors: anything that keeps the whole job from being done is a Status; a rank that cannot be
// compared in a job of many is noted and the others go on. Threads: works in parallel inside.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace sonde::precision {

struct KernelOptions {
  std::string target_path;
  std::string golden_path;
  std::string output_path;
  std::vector<int64_t> ranks;  // empty: all
  std::vector<int64_t> steps;  // empty: all
  bool xlsx = false;
};

struct KernelOutcome {
  struct Table {
    int64_t rank = 0;
    int64_t step = 0;
    uint64_t rows = 0;
    uint64_t accurate = 0;    // Yes
    uint64_t inaccurate = 0;  // No
    uint64_t unreadable = 0;  // neither: a tensor could not be read
    std::string first_unreadable = {};
    std::string first_bad = {};  // the first in time that is not accurate
    std::string file = {};
  };
  std::vector<Table> tables;
  std::vector<std::string> notes;
};

Result<KernelOutcome> CompareKernels(const KernelOptions& options);

}  // namespace sonde::precision
