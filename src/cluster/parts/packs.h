// Ranks in packs, each of which becomes one part: a file named by content.
//
// The name follows from the ranks' files (size and time of change), the mode, its options and the
// build of the program, so that a part that is there need not be made again. Small ranks share a
// pack, large ones have one each; which ones does not depend on who makes them. Pure but for
// looking at the ranks' files. Any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/frame/mode.h"
#include "cluster/frame/run.h"

namespace sonde::cluster {

struct Pack {
  std::vector<Rank> ranks;
  std::string name;  // of the file
};

std::vector<Pack> PacksOf(const Mode& mode, const std::vector<Rank>& ranks,
                          const ModeOptions& options);
// All of them in one.
Pack OnePack(const Mode& mode, std::vector<Rank> ranks, const ModeOptions& options);

// Names of what follows from other files: "slow_rank-waits-<hash>.parquet".
std::string NameOfWaits(const Mode& mode, const std::vector<std::string>& parts);
// Of the part of a pack that needs the waits.
std::string NameWithWaits(std::string_view part, std::string_view waits);

}  // namespace sonde::cluster
