// Which rank of a step differs first, where dumps do not hold the collectives that show it (L0).
//
// Ranks that make the same calls in the same order have one time: the place in that order. A value
// that a rank computed otherwise behind the place where another rank differs may have come from
// there, through a collective inside of a module. A weight, an argument or a type is the rank's
// own. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "precision/cause/alignment.h"
#include "precision/cause/first_cause.h"

namespace sonde::precision {

// Data that the search over ranks keeps of one rank.
struct RankFinding {
  int64_t rank = 0;
  FirstCause* cause = nullptr;
  std::string call;              // where it differs; empty: nowhere, or a rank of its own kind
  std::vector<uint64_t> agreed;  // hashes of the names of the calls before, sorted
};

// Of a rank with a finding; `cause` must outlive the result.
RankFinding RankFindingOf(int64_t rank, const DumpFile& target, const Alignment& alignment,
                          FirstCause* cause);

// Findings of ranks that another one precedes become kOtherRank, with a line that names it.
void PutEarliestRankFirst(std::span<RankFinding> ranks);

}  // namespace sonde::precision
