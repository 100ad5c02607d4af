// What each rank waited for the others in collectives, once all ranks that were named are analysed:
// told in the summary, and written into their deliverables.
//
// One thread. A rank whose files cannot be written anew keeps them as they are, and says so.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/analyse_rank.h"

namespace sonde::cli {

// Sets `waits` of each, and writes anew those of its files that hold waits. Clocks of hosts that
// disagree are corrected, unless `keeps_clocks`. Returns what of them is to be said, a line each.
std::vector<std::string> TellWaits(std::span<AnalysedRank> ranks, int threads, bool keeps_clocks);

// A line for the summary; "" where there are no collectives.
std::string RenderWaits(std::span<const AnalysedRank> ranks,
                        std::span<const std::string> rank_names);

}  // namespace sonde::cli
