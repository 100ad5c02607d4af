// Numbers of two tensors of equal shape, or of one, in double precision and one pass.
//
// Sums go in order over pieces, so results do not depend on the number of threads. Elements that
// are equal bit for bit, NaN at the same place included, count as equal. Threads: large tensors are
// worked on in parallel inside.
#pragma once

#include <cstdint>

#include "precision/tensor/tensor.h"

namespace sonde::precision {

struct WeightNumbers {
  double max = 0;  // of finite elements; NaN where there are none
  double min = 0;
  double sum = 0;
  double squares = 0;
  uint64_t nan = 0;
  uint64_t infinite = 0;
  uint64_t hash = 0;  // of the values, whatever their type
};

struct WeightDifference {
  WeightNumbers target;
  WeightNumbers golden;
  double dot = 0;
  double squares = 0;         // of differences
  double max_difference = 0;  // of finite elements
  // The largest difference in units of the last place of the coarser type.
  double max_units = 0;
  uint64_t different = 0;  // elements
  int64_t first = -1;      // the first and last that differ
  int64_t last = -1;
};

// The unit roundoff of a floating type; 0 for others.
double UnitRoundoff(Dtype dtype);

WeightDifference CompareWeights(const Tensor& target, const Tensor& golden);
WeightNumbers NumbersOf(const Tensor& tensor);

}  // namespace sonde::precision
