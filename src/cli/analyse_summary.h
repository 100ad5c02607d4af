// The summary that `sonde analyse` prints: where the time of a step went, the greatest operators
// and modules, memory, losses, paths of the files. Plain text; pure.
#pragma once

#include <span>
#include <string>

#include "cli/analyse_rank.h"

namespace sonde::cli {

// Ranks in the order in which they are shown.
std::string RenderSummary(std::span<const AnalysedRank> ranks);

}  // namespace sonde::cli
