// Functions of rules for what SQL cannot compute, by the name in the rule's file.
//
// Threads: one. Errors: a trace that cannot be read.
#pragma once

#include <map>
#include <string>

#include "advisor/frame/evaluate.h"
#include "job/job.h"
#include "job/open.h"

namespace sonde::advisor {

// Two traces side by side; what is unknown is -1.
struct Pair {
  std::string path;
  std::string benchmark_path;  // "": none
  int64_t rank = -1;
  int64_t benchmark_rank = -1;
  int64_t step = -1;
  int64_t benchmark_step = -1;
};

// "overall_summary": where the time of the trace went.
Result<Found> OverallSummary(const Rule& rule, const std::string& path, Language language,
                             int threads);
// "kernel_compare" and "api_compare": target and benchmark by type of kernel, and by call.
Result<Found> KernelCompare(const Rule& rule, const Pair& pair, int threads);
Result<Found> ApiCompare(const Rule& rule, const Pair& pair, int threads);

}  // namespace sonde::advisor
