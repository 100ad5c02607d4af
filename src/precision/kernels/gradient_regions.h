// The parts of a graph's backward pass that are of one call of the forward pass each: for
// JoinGradients(). Only what is certain: the call is the one whose id MindSpore wrote at the
// gradients (or whose operator they were expanded from), it alone has the values that they take,
// and one gradient flows in. Threads: pure.
#pragma once

#include <cstddef>
#include <set>
#include <vector>

#include "precision/kernels/gradient_graph.h"

namespace sonde::precision {

struct GradientRegion {
  size_t forward = 0;   // the node whose gradients these are
  NodeValue of_output;  // the gradient that flows in: that of its output
  std::set<size_t> nodes;
  std::vector<size_t> results;  // of them: those that nodes outside take, or that are returned
};

std::vector<GradientRegion> FindGradientRegions(const GradientGraph& graph);

// Whether the compiler made a node for an operator that it has expanded, of which it is not known
// what it is for.
bool IsUnknownPart(const GradientGraph& graph, size_t node);

}  // namespace sonde::precision
