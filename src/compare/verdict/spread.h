// Samples of two sides and the interval of their difference: by Welch's test, and by the ranks of
// the samples (Mann and Whitney), which one sample far off does not change.
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

// How likely the ranks of two samples lie that far apart or farther, on either side, if both are of
// one distribution: exact by permutation, ties included, up to kExactRanks values together, and by
// the normal approximation beyond. 1 where a sample is empty.
inline constexpr size_t kExactRanks = 20;
double RankTail(std::span<const double> base, std::span<const double> comparison);
// The smallest that RankTail can be for samples of these sizes.
double LeastRankTail(size_t base, size_t comparison);

// The difference by which the comparison has to be moved for the ranks to agree (the median of all
// differences), and its interval. Not known where so few values cannot leave out so little.
Gap RankGapOf(std::span<const double> base, std::span<const double> comparison, double alpha);

}  // namespace sonde::compare
