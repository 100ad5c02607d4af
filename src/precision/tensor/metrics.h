// The six metrics of two tensors, in one pass over both.
//
//   r        |(n - b) / b|, in float where both element types fit into it, else in double; where b
//            is 0 the epsilon of that type is added to n and b first
//   Cosine   n.b / (|n| |b|);  EucDist |n - b|;  MaxAbsErr max |n - b|;  all in double
//   MaxRelativeErr max r; the ratios are the shares of r < 0.001 and r < 0.005
//
// Positions where both are infinite or both NaN count as equal; a NaN or infinity against anything
// else makes all six N/A. Complex numbers count as their two parts.
// Blocks are summed in order, so results do not depend on the number of threads.
// Threads: large tensors are worked on in parallel inside; may be called from any.
#pragma once

#include <array>

#include "precision/compare/cell.h"
#include "precision/compare/comparison.h"
#include "precision/tensor/tensor.h"

namespace sonde::precision {

std::array<Cell, kMaxCells> CompareTensors(const Tensor& target, const Tensor& golden);

// All six cells `kind`: what a row gets that has no two tensors.
std::array<Cell, kMaxCells> UniformCells(Cell::Kind kind);

}  // namespace sonde::precision
