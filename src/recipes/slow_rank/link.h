// Ranks that arrive in time, but whose own transfers take longer.
//
//   expected  of each type and size of operations: calls of the rank * median time of transfer of
//             the others of its role in the steps that all have
//   excess    own time of transfer - expected, where that is kLinkShare of it at least; as a share
//             of the own work it has to pass the test of excess.h
// Traces that do not separate transfers from waiting have no result. Units: nanoseconds. Pure, any
// thread.
#pragma once

#include <optional>
#include <vector>

#include "recipes/slow_rank/cause.h"

namespace sonde::recipes::slow_rank {

inline constexpr double kLinkShare = 0.1;

struct SlowLinkCause {
  Excess excess;  // of the time of transfer; share: of the own work
  Cause cause;
};

std::vector<SlowLinkCause> SlowLinksOf(const Role& role);

}  // namespace sonde::recipes::slow_rank
