// Calls of the host interface by name (api_statistic.csv).
//
// On an NPU these are the vendor's calls (table api_call), or, where its files hold their sums
// alone, those. Where the CPU is the device, the calls that launch work stand for them: level
// "node", named by the operator, for each device task, and level "communication", named
// hcom_<kind>_, for each communication operation.
// Average and variance as the peer has them: the average rounded to whole nanoseconds, the variance
// that of the population around it. Rows by level and name.
// Units: nanoseconds, square microseconds. Pure, any thread.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "recipes/trace/device_view.h"
#include "store/result_info.h"

namespace sonde::recipes {

#define SONDE_COLUMNS_API_STATISTIC(C)                                                      \
  C(level, Text, "", KeyOf("api_level"), "layer of the interface: acl, node, runtime, ...") \
  C(name, Text, "", KeyOf("api"), "of the call")                                            \
  C(count, Int, "", kNeither, "calls")                                                      \
  C(total_ns, Int, "ns", kLess, "sum of their durations")                                   \
  C(average_ns, Int, "ns", kLess, "mean, rounded")                                          \
  C(min_ns, Int, "ns", kLess, "shortest")                                                   \
  C(max_ns, Int, "ns", kLess, "longest")                                                    \
  C(variance_us2, Double, "us2", kLess, "variance of the durations")
SONDE_RESULT(ApiStatisticRow, kApiStatistic, "api_statistic", SONDE_COLUMNS_API_STATISTIC,
             "calls of the host's interface by layer and name")

using ApiTexts = std::deque<std::string>;  // grows without moving what is in it

// The texts of the rows live as long as the view and `texts`.
std::vector<ApiStatisticRow> ApiStatistic(const DeviceView& view, ApiTexts& texts);

}  // namespace sonde::recipes
