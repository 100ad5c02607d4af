// Modules of both sides: sums by name with their operators (sheet ModuleCompareStatistic), and call
// by call (ModuleCompare).
//
// Units: milliseconds, microseconds. Pure, any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compare/frame/options.h"
#include "compare/frame/sheet.h"
#include "compare/modules/module_tree.h"

namespace sonde::compare {

// A call of each side; null where the other side has none.
struct ModulePair {
  const Module* base = nullptr;
  const Module* comparison = nullptr;
};

// Level by level, forward with forward and backward with backward, then by begin.
std::vector<ModulePair> MatchModules(const ModuleTrees& base, const ModuleTrees& comparison,
                                     const Options& options);

Sheet ModuleStatisticSheet(const Side& base, const Side& comparison,
                           const std::vector<ModulePair>& pairs);
Sheet ModuleSheet(const Side& base, const Side& comparison, const std::vector<ModulePair>& pairs);

// "nn.Module: Linear" of "/nn.Module: Net_0/nn.Module: Linear_12".
std::string ModuleClass(std::string_view full_name);
// "/ Net_0/ Linear_12".
std::string ModuleTitle(std::string_view full_name);

}  // namespace sonde::compare
