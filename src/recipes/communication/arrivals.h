// Waiting and transfer of a collective, separated by when each rank of its group arrived.
//
// A collective that needs something of every rank (all-reduce, all-gather, reduce-scatter,
// all-to-all, barrier) cannot end before the last rank has begun it: until then the others wait,
//   wait = latest begin of all ranks - own begin        transit = the rest of its duration
// Collectives of the ranks of a run are matched within a group (communicator and its ranks) in the
// order of their begins, where kind and size agree and their times have a moment in common. A group
// whose size no call has is whole where every rank of the run is in it. One
// that another rank lacks (recording began later, records lost) has no such moment, and stays
// unmatched, without a result; the order of the others holds. A group of which ranks are missing
// has no results at all. Clocks of several machines have to agree, or to be
// corrected before (host_clocks.h).
// Units: nanoseconds. Pure, any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "recipes/trace/device_view.h"

namespace sonde::recipes {

struct CollectiveArrival {
  uint64_t group = 0;  // of communicator and ranks
  uint64_t call = 0;   // the same for all ranks of one collective
  int64_t ts = 0;
  int64_t end_ns = 0;
  int64_t rank_size = -1;
  uint32_t index = 0;  // into data.communications
};

// Collectives of one rank: those whose parts nobody measured, by begin.
struct RankArrivals {
  int64_t run = 0;
  int64_t rank = -1;
  int64_t world = -1;          // ranks of the run; -1: not known
  std::string host = {};       // "" where it is not known
  size_t operation_count = 0;  // of data.communications
  std::vector<CollectiveArrival> collectives;
};
RankArrivals ArrivalsOf(const DeviceView& view);

struct RankWaits {
  std::vector<int64_t> waits_ns;  // as DeviceView::waits_ns; empty: nothing is known
  int64_t wait_ns = 0;            // sums over those that are known
  int64_t elapse_ns = 0;
  int64_t matched = 0;
  int64_t unmatched = 0;  // of groups whose ranks are all here
  int64_t alone = 0;      // of groups that lack a rank here
};
// Parallel to `ranks`.
std::vector<RankWaits> WaitsOf(std::span<const RankArrivals> ranks);

}  // namespace sonde::recipes
