// Calls of the host interface by name (api_statistic.csv).
//
// On an NPU these are the vendor's calls (table api_call). Where the CPU is the device, the calls
// that launch work stand for them: level "node", named by the operator, for each device task, and
// level "communication", named hcom_<kind>_, for each communication operation.
// Average and variance as the peer has them: the average rounded to whole nanoseconds, the variance
// that of the population around it. Rows by level and name.
// Units: nanoseconds, square microseconds. Pure, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "recipes/trace/device_view.h"

namespace sonde::recipes {

struct ApiStatisticRow {
  std::string level;
  std::string name;
  int64_t count = 0;
  int64_t total_ns = 0;
  int64_t average_ns = 0;
  int64_t min_ns = 0;
  int64_t max_ns = 0;
  double variance_us2 = 0;
};

std::vector<ApiStatisticRow> ApiStatistic(const DeviceView& view);

}  // namespace sonde::recipes
