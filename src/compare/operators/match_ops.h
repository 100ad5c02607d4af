// Operators of both sides in pairs, in the order of the sequences.
//
// Forward and backward threads are matched run by run where both sides have them. Pure, any thread.
#pragma once

#include <utility>
#include <vector>

#include "compare/frame/options.h"
#include "compare/frame/side.h"

namespace sonde::compare {

// Indices of Side::ops; kNone where the other side has none.
using OpPair = std::pair<int32_t, int32_t>;

std::vector<OpPair> MatchOps(const Side& base, const Side& comparison, const Options& options);

// The operator and all below it, level by level.
std::vector<int32_t> Subtree(const Side& side, int32_t op);

// Sizes or types of an operator's inputs, a line each; "N/A" where they are unknown.
std::string LinesOf(const Side& side, int32_t text);

}  // namespace sonde::compare
