// Memory by operator: sums by name (sheet MemoryCompareStatistic), and pair by pair with the blocks
// (MemoryCompare).
//
// Units: MB and KB of 1024, milliseconds that blocks lived (0 where they were not given back while
// recording). Pure, any thread.
#pragma once

#include <span>

#include "compare/frame/sheet.h"
#include "compare/operators/match_ops.h"

namespace sonde::compare {

Sheet MemoryStatisticSheet(const Side& base, const Side& comparison, std::span<const OpPair> pairs);
Sheet MemorySheet(const Side& base, const Side& comparison, std::span<const OpPair> pairs);

}  // namespace sonde::compare
