// Which of some ranks that do the same work takes longer for it, and since when.
//
//   excess    value of a rank - median of the others, in each step; a share of that median
//   spread    1.4826 * median |excess| of the others, at least kSpreadFloor of the median: between
//             healthy devices there is that much anyway. Of two ranks there is one other: the
//             spread is then that of the excess over the steps, of a mean over n steps its root
//             n-th part
//   limit     max(kExcessShare, z * spread), z = 2.95 + 0.24 ln(ranks): with a normal spread about
//             one of 500 healthy jobs would have a rank beyond it
//   always    the mean over all steps is above the limit, and that of the median step is like it
//   at times  else: steps in which it is, three at least and together kSumShare of all steps, or
//             all of the last ones, two at least; of fewer kFewShare of all, since a kernel that
//             took twice as long once, or a pause of the host, is no cause
//   since     the step that parts the steps best into before (below kBeforeShare of the mean
//             after) and after; none: from the first on
// Units: those of the values. Pure, any thread.
#pragma once

#include <cstddef>
#include <vector>

namespace sonde::recipes::slow_rank {

inline constexpr double kExcessShare = 0.02;
inline constexpr double kSumShare = 0.02;
inline constexpr double kFewShare = 0.05;
inline constexpr double kBeforeShare = 0.3;
inline constexpr double kSpreadFloor = 0.0045;

struct Excess {
  size_t place = 0;                // of the rank
  std::vector<size_t> steps = {};  // in which it was slow, ascending
  bool is_steady = false;          // from steps.front() on, on average
  size_t slower_count = 0;         // of these steps, in how many it took longer at all
  double share = 0;                // mean over these steps
  double value = 0;                // mean over these steps, in the unit of the values
};

// How far apart healthy ranks may lie, as a share: of a population of `count`, with the median
// deviation `spread`.
double ExcessLimit(size_t count, double spread);

// values[rank][step], all of one length; above 0. Two ranks at least.
std::vector<Excess> FindExcesses(const std::vector<std::vector<double>>& values);

// Median; of values in any order, not empty.
double MedianOf(std::vector<double> values);

}  // namespace sonde::recipes::slow_rank
