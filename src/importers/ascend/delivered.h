// Figures from the profiler's own files, kept as metadata: those of steps, for comparison with the
// recipes' results; those of the host's interface for traces whose files hold the sums but not the
// calls.
//
// Pure, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sonde::importers {

struct DeliveredStep {
  std::string step;  // "" where the file has no steps
  int64_t device_id = -1;
  double computing_us = 0;
  double communication_us = 0;
};

// [{"file": ..., "step": "13", "device": 0, "computing_us": ..., "communication_us": ...}, ...]
std::string DeliveredStepsJson(std::string_view file, const std::vector<DeliveredStep>& steps);

// Those of step_trace_time.csv; empty where it lacks a column.
std::vector<DeliveredStep> StepsOfCsv(std::string_view text);

// The rows of api_statistic.csv: [["acl", "aclrtMalloc", calls, total, mean, shortest, longest
// (ns), variance (us2)], ...]; [] where it lacks a column.
std::string DeliveredApiJson(std::string_view csv);

inline constexpr std::string_view kDeliveredSteps = "delivered_steps";
inline constexpr std::string_view kDeliveredApi = "delivered_api_statistic";

}  // namespace sonde::importers
