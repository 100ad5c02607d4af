// Groups whose collectives take longer than those of other groups when everybody is there.
//
// Ranks of a collective end it together, so what the last one spends in it is the transfer,
// whatever the clocks say: the least time of its members. Traces of GPUs do not distinguish
// transfers from waiting, so a slow link shows in its group, and not in one rank.
//   kind      groups that have the same types, sizes and numbers of collectives and as many ranks:
//             three at least, since of two none is the odd one
//   slow      takes kLinkShare longer than the median of the others, and as a share of the own
//             work of the job's ranks passes the test of excess.h
// Sends, receives, and collectives of which a rank that the others have is not there, do not count;
// nor do those whose transfers were measured (link.h). Units: nanoseconds. Pure, any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "recipes/slow_rank/excess.h"
#include "recipes/slow_rank/work.h"

namespace sonde::recipes::slow_rank {

struct SlowGroup {
  std::string name;
  std::string ranks;  // "4,5,6,7"
  std::string type;   // of the collectives in which most is lost
  Excess excess;
  std::vector<int64_t> steps;  // their numbers, all
  double own_ns = 0;           // a step
  double others_ns = 0;        // the same in the median of the others
  size_t peers = 0;            // other groups of its kind
};

std::vector<SlowGroup> SlowGroupsOf(std::span<const RankWork* const> ranks);

}  // namespace sonde::recipes::slow_rank
