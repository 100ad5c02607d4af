// Who comes last at the collectives of each step and group, and what the others lose by it.
//
// Ranks of a collective end it together, so the one that spent least time in it came last, whatever
// its clock is; the others lose the median of what they spent longer. An operation is the n-th of
// its type of its group in the step; of those that ranks of the group lack are left out.
// Units: nanoseconds. Pure, any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "recipes/slow_rank/work.h"

namespace sonde::recipes::slow_rank {

struct Arrival {
  int64_t step = -1;
  std::string group = {};
  int64_t collectives = 0;
  int64_t ranks = 0;
  int32_t last_rank = 0;   // the one by which most is lost
  int64_t last_count = 0;  // collectives in which it was last
  double lost_ns = 0;      // by it, of each of the others
  std::string worst = {};  // its collective in which most is lost
  double worst_ns = 0;
  double transfer_ns = 0;  // of all: from when the last was there, the least time of its ranks
  int64_t ts = 0;          // begin of it on that rank
};

std::vector<Arrival> ArrivalsOf(std::span<const RankWork* const> ranks);

}  // namespace sonde::recipes::slow_rank
