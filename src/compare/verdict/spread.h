// Samples of two sides and the interval of their difference, by Welch's test.
//
// Units: those of the samples. Pure, any thread.
#pragma once

#include <cstdint>
#include <span>

namespace sonde::compare {

struct Spread {
  double mean_ms = 0;
  double variance = 0;  // of the sample
  int64_t steps = 0;
};
Spread SpreadOf(std::span<const double> values);

// How likely a value of Student's t is that far from 0 or farther, on either side.
double StudentTail(double t, double freedom);
// The t whose StudentTail is `alpha`.
double StudentLimit(double alpha, double freedom);

// The difference of two means with the interval that leaves out `alpha`. With fewer than two
// values on a side there is none (`is_known` is false).
struct Gap {
  double diff = 0;
  double low = 0;
  double high = 0;
  bool is_known = false;
  bool LeavesOutZero() const { return is_known && (low > 0 || high < 0); }
};
Gap GapOf(const Spread& base, const Spread& comparison, double alpha);

}  // namespace sonde::compare
