// Overflow levels of the calls of a graph: where infinities and NaN first show.
//
// Looks at Max, Min and Mean of inputs (arguments, not parameters) and outputs, and at
// a growth of the norm by more than a hundred. Buffers that a call fills, or leaves undefined, do
// not count.
// Threads: pure.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "precision/graph/graph.h"

namespace sonde::precision {

// kMedium: bad input, good output. kHigh: both bad, or the norm grows. kCritical: only the output.
enum class Overflow : uint8_t { kNone, kMedium, kHigh, kCritical };
std::string_view OverflowText(Overflow level);  // "" for kNone

// One level a node.
std::vector<Overflow> CheckOverflow(const Graph& graph);

Overflow OverflowOf(const DumpFile& dump, const DumpApi& api);

}  // namespace sonde::precision
