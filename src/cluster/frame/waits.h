// Waits of collectives of ranks that are read apart from each other: what is kept of each rank
// (map), and what follows from all of them together (shuffle).
//
// About 48 bytes a collective and rank. Pure, any thread. Units: nanoseconds.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cluster/frame/mode.h"
#include "job/for_each_trace.h"

namespace sonde::cluster {

inline constexpr recipes::Needs kArrivalNeeds =
    recipes::Reads<store::CommunicationOpRow, store::CommunicationGroupRow>();

// Into rows of which ShuffleWaits alone knows; the trace has kArrivalNeeds.
void KeepArrivals(const job::TraceInHand& trace, Part& part);

struct ShuffledWaits {
  std::vector<Part> parts;           // parallel to those that were given
  std::vector<std::string> notices;  // clocks of hosts that disagree
};
// `ranks`: of all ranks of a job, in the order of their traces.
ShuffledWaits ShuffleWaits(std::span<const Part* const> ranks, bool keeps_clocks);

// As job::TraceInHand::waits_ns, of a rank that ShuffleWaits returned.
std::span<const int64_t> WaitsIn(const Part& part);

}  // namespace sonde::cluster
