// Messages about traces that failed: a reason that holds for several is given once. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace sonde::job {

struct TraceFailure {
  std::string path;
  Status why;
};

// A line each, in the order of the first that failed for that reason. Reasons that differ in the
// path of the trace alone are one.
std::vector<std::string> DescribeFailures(const std::vector<TraceFailure>& failures);

}  // namespace sonde::job
