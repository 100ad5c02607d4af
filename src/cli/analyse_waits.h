// Time that each rank waited for the others in collectives, once all named ranks are analysed:
// shown in the summary, and written into their deliverables.
//
// One thread. A rank whose files cannot be written again keeps them, with a notice.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/analyse_rank.h"

namespace sonde::cli {

// Sets `waits` of each, and writes its files with waits again. Clocks of hosts that
// disagree are corrected, unless `keeps_clocks`. Returns a line for each.
std::vector<std::string> FindWaits(std::span<AnalysedRank> ranks, int threads, bool keeps_clocks);

// A line for the summary; "" where there are no collectives.
std::string RenderWaits(std::span<const AnalysedRank> ranks,
                        std::span<const std::string> rank_names);

}  // namespace sonde::cli
