// Which rank of a run is slow, so that the others wait for it.
//
// Compared are ranks of one run and one stage of its pipeline: the stages of a model differ. A rank
// is slow where it computes longer in a step than the median rank by a share (kSlowRankShare), and
// the others wait for it: in a step they communicate, while nothing is computed and without what a
// pipeline receives, longer than it does, by a share of that difference (kWaitedShare). Of each
// stage the slowest is named. Units: nanoseconds. Pure, any thread.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "recipes/finding/finding.h"
#include "store/store.h"

namespace sonde::recipes {

// The mean step of a rank.
struct RankWork {
  int64_t run = 0;    // traces of one launch have one number
  int64_t stage = 0;  // of the pipeline
  int64_t rank = -1;
  int64_t computing_ns = 0;
  int64_t exposed_ns = 0;  // communication without computing and receiving
  int64_t trace = -1;      // for Finding::trace
};

// Its mean step over the devices, which work in parallel: that of the one that computes most.
RankWork WorkOf(const DeviceView& view);

std::vector<Finding> SlowRanks(std::span<const RankWork> ranks);

// Findings of one trace by itself, and its data for the comparison with others.
struct TraceFindings {
  std::vector<Finding> findings;
  RankWork work;
};
Result<TraceFindings> FindingsOf(const store::Store& store);

}  // namespace sonde::recipes
