// The causes of the difference of a step: the parts of both sides, grouped by the kind of
// difference.
//
// Units: milliseconds a step. Pure, any thread.
#pragma once

#include <vector>

#include "compare/difference/work.h"
#include "compare/verdict/verdict.h"

namespace sonde::compare {

// `is_host`: the host is the device on both sides. Communication that nothing hides is a cause of
// its own.
std::vector<Cause> FindCauses(const Works& works, bool is_host,
                              const std::vector<double>& base_communication_ms,
                              const std::vector<double>& comparison_communication_ms);

// Of the time of kernels of both: that of operators that both have.
double AlignedShare(const Works& works);

}  // namespace sonde::compare
