// Slow ranks of a job as findings (recipes/slow_rank/slow_ranks.h): of each run by itself.
//
// Ranks without a number are left out; a run in which a rank is there twice has no finding,
// since two runs may hide in it. Pure, any thread.
#pragma once

#include <span>
#include <vector>

#include "base/status.h"
#include "recipes/finding/finding.h"
#include "recipes/slow_rank/work.h"
#include "store/store.h"

namespace sonde::recipes {

// What one trace has to say by itself and for the comparison with others.
using slow_rank::RankWork;
using slow_rank::WorkOf;
inline constexpr Needs kSlowRankNeeds = kFindingNeeds | slow_rank::WorkNeeds();

// Slow ranks and links with their causes; nothing where there are none.
std::vector<Finding> SlowRanks(std::span<const RankWork> ranks);

// The same, or that there are none, and which ranks are missing, where several were compared.
std::vector<Finding> SlowRanksOrNone(std::span<const RankWork> ranks);

struct TraceFindings {
  std::vector<Finding> findings;
  RankWork work;
};
Result<TraceFindings> FindingsOf(const store::Store& store);

}  // namespace sonde::recipes
