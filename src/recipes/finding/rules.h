// Rules that FindingsOf gathers, by themselves. Pure, any thread.
#pragma once

#include <vector>

#include "recipes/finding/finding.h"

namespace sonde::recipes {

// What a trace lacks, so that its figures say less: a finding for each row of `coverage` below its
// limit. Needs the times of devices.
std::vector<Finding> CoverageFindings(const DeviceView& view);

// Steps whose delivered figures differ from the computed ones; needs the times of devices.
void AddDelivered(const DeviceView& view, std::vector<Finding>& findings);

// Steps in which something was compiled.
void AddCompiledSteps(const DeviceView& view, std::vector<Finding>& findings);

}  // namespace sonde::recipes
