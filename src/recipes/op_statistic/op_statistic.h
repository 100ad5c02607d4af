// Device tasks by operator type and core (op_statistic.csv).
//
// Group by (type, core) of a device; by total time descending, then by type. The ratio is that of
// the total in all tasks that are not communication, in percent (the peer's definition, checked on
// a real capture). Units: nanoseconds. Pure, any thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "recipes/trace/device_view.h"

namespace sonde::recipes {

struct OpStatisticRow {
  size_t device = 0;  // index of view.devices
  std::string_view op_type;
  std::string_view core;
  int64_t count = 0;
  int64_t total_ns = 0;
  int64_t min_ns = 0;
  int64_t max_ns = 0;
  double ratio_percent = 0;

  double AverageNs() const { return static_cast<double>(total_ns) / static_cast<double>(count); }
};

std::vector<OpStatisticRow> OpStatistic(const DeviceView& view);

}  // namespace sonde::recipes
