// The four statistics of a tensor: largest and smallest element, mean, Euclidean norm, each by the
// rules that the reference tool follows for the element type.
//
//   element type               Max Min             Mean Norm
//   float32, float16, bfloat16  in that type        in that type: may round, overflow, vanish
//   float64, integers          in that type        none
//   bool                       any, all            none
//   complex                    of the magnitudes   mean of the magnitudes, none
//   one element without shape  the element         the element, not for bool
//   float8, empty, others      none                none
//
// NaN anywhere makes all four NaN. Threads: pure functions. Errors: none.
#pragma once

#include <cstdint>

#include "probe/tensor_view.h"

namespace sonde::probe {

// One statistic: absent, or a number of the kind that its text shows.
struct Number {
  enum class Kind : uint8_t { kNone, kFloat, kInt, kUInt, kBool };
  Kind kind = Kind::kNone;
  double real = 0;
  int64_t integer = 0;  // kInt, kBool (0 or 1); kUInt as its bits
};

struct Statistics {
  Number max = {};
  Number min = {};
  Number mean = {};
  Number norm = {};
};

struct StatisticsOptions {
  // False: real numbers have no mean and no norm ("precision": "high" of the reference).
  bool with_sums = true;
  // How the framework takes the mean of 16-bit types: newer ones sum in float32, older ones round
  // the sum to 16 bits before they divide.
  bool mean_rounds_sum = false;
};

Statistics ComputeStatistics(const TensorView& view, const StatisticsOptions& options);

}  // namespace sonde::probe
