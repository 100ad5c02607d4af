// Clocks of hosts that disagree: found by collectives, which end everywhere at about one time.
//
//   ahead   of a host: the median of (its last end - last end of the hosts that are known) over the
//           collectives that need all ranks of their group; the first rank's host has 0, hosts that
//           share no collective with it follow those that do
//   begins  the same of the first begins
//   found   of three collectives or more, with a median deviation of a quarter of it at most,
//           - from 1 ms on, between hosts that are known: what a slow network does to ends is
//             smaller or less even
//           - from 50 us on where a quarter of the begins lie as far apart as the ends, or where
//           the
//             ends lie apart by always the same time (a twentieth) and the begins do not lie
//             together: who ends late without beginning late has a slow link and not a wrong clock
//           - where at least half of the collectives would be impossible: one rank is done with it
//             before another begins
// Where no host is known each rank is one. Units: nanoseconds. Pure, any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "recipes/communication/arrivals.h"

namespace sonde::recipes {

// A collective that needs all ranks of its group; `kind`: the key within which the n-th of each
// rank is the same.
struct HostCollective {
  uint64_t kind = 0;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
};
struct RankOnHost {
  std::string host;  // "" where it is not known
  std::vector<HostCollective> collectives;
};

struct HostClock {
  std::string host;           // "" where it is not known
  std::vector<size_t> ranks;  // places in the argument of FindHostClocks
  int64_t ahead_ns = 0;       // 0 where nothing was found
  int64_t deviation_ns = 0;
  size_t count = 0;  // collectives that show it
};

// Of the hosts that can be compared; the first rank's comes first.
std::vector<HostClock> FindHostClocks(std::span<const RankOnHost> ranks);

// The host that a trace was recorded on; "" where it is unknown.
std::string HostOf(const TraceData& data);

// "the clock of node1 (rank 4,5) is 250.00 ms ahead of that of node0"; `ranks`: as they are shown.
std::string DescribeClock(std::string_view host, std::string_view ranks, int64_t ahead_ns,
                          std::string_view first_host);

// Moves the times of those whose clock is ahead or behind, run by run. Returns a line for each,
// with the effect on waits; the caller adds how to keep the clocks.
std::vector<std::string> CorrectClocks(std::span<RankArrivals> ranks);

}  // namespace sonde::recipes
