// Time of the device by operator: sums by name (sheet OperatorCompareStatistic), and pair by pair
// with the kernels (OperatorCompare).
//
// Units: milliseconds, microseconds. Pure, any thread.
#pragma once

#include <span>
#include <string>

#include "compare/frame/sheet.h"
#include "compare/operators/match_ops.h"

namespace sonde::compare {

Sheet OperatorStatisticSheet(const Side& base, const Side& comparison,
                             std::span<const OpPair> pairs);
Sheet OperatorSheet(const Side& base, const Side& comparison, std::span<const OpPair> pairs);

// "name, task, type, [input shapes: "8"] [duration: 5.06]", its line end included.
std::string KernelLine(const Side& side, const Kernel& kernel);

}  // namespace sonde::compare
