// Words for causes: arguments of findings, which name a text and its arguments
// (recipes/finding/finding.h). Pure, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/host/fixed.h"
#include "recipes/slow_rank/cause.h"

namespace sonde::recipes::slow_rank {

using base::Fixed;
// "3.21 ms".
std::string Duration(double ns);

// "since step 12"; `steps`: the numbers of all.
std::string SinceText(const Excess& excess, const std::vector<int64_t>& steps);

std::string CauseText(const Cause& cause);

}  // namespace sonde::recipes::slow_rank
