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
#include "store/result_info.h"

namespace sonde::recipes {

#define SONDE_COLUMNS_OP_STATISTIC(C)                                              \
  C(process_id, Opt, "", KeyOf("process"), "process that the device is of")        \
  C(device_id, Int, "", KeyOf("device"), "number of the device in its process")    \
  C(op_type, Text, "", KeyOf("op_type"), "type of the operator")                   \
  C(core, Text, "", KeyOf("core"), "AI_CORE, CPU, ...: what of the device ran it") \
  C(count, Int, "", kNeither, "tasks")                                             \
  C(total_ns, Int, "ns", kLess, "sum of their durations")                          \
  C(min_ns, Int, "ns", kLess, "shortest")                                          \
  C(average_ns, Double, "ns", kLess, "mean")                                       \
  C(max_ns, Int, "ns", kLess, "longest")                                           \
  C(ratio_percent, Double, "%", kNeither, "share of the total in that of all tasks of the device")
SONDE_RESULT(OpStatisticRow, kOpStatistic, "op_statistic", SONDE_COLUMNS_OP_STATISTIC,
             "device tasks of one type of operator on one kind of core")

std::vector<OpStatisticRow> OpStatistic(const DeviceView& view);

}  // namespace sonde::recipes
