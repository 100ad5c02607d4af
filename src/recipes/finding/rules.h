// Rules that FindingsOf gathers and that lie in files of their own. Pure, any thread.
#pragma once

#include <vector>

#include "recipes/finding/finding.h"

namespace sonde::recipes {

// Steps whose delivered figures differ from the computed ones; needs the times of devices.
void AddDelivered(const DeviceView& view, std::vector<Finding>& findings);

}  // namespace sonde::recipes
