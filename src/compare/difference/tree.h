// The difference of a step as a tree: modules, below them their operators, below them kernels; what
// the device was idle for stands where the host was. Sums hold all that is below. Pure, any thread.
#pragma once

#include <vector>

#include "compare/difference/work.h"
#include "compare/verdict/verdict.h"

namespace sonde::compare {

std::vector<TreeNode> MakeTree(const Works& works, bool is_host);

}  // namespace sonde::compare
