// How much longer the longest call of a kernel took than the others of its kind: one call alone is
// chance, and no cause.
//
//   kind    name and input shapes over all steps; where shapes come once, as those of experts do,
//           the name, and times an element of the first input
//   outlier longest call of a kind - mean of its other calls; a kind of one call has none
// A kernel that is slow in each step, or in several calls of one, loses little by it. Units:
// nanoseconds. Pure, any thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "recipes/slow_rank/job.h"

namespace sonde::recipes::slow_rank {

// Of each row of WorkTasks of the rank.
std::vector<int64_t> OutliersOf(const RankOfJob& rank);

// Elements of the first input of "\"16,8;4\""; 0 where that is not known.
double ElementsOf(std::string_view shapes);

}  // namespace sonde::recipes::slow_rank
