// The median of what all others have, for each of many ranks: to collect the others of each would
// take the square of the time. Pure, any thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

namespace sonde::recipes::slow_rank {

// MedianOf (excess.h) all values but one. `sorted`: all of them in order, two at least, `value`
// among them.
inline double MedianWithout(std::span<const double> sorted, double value) {
  const auto place = static_cast<size_t>(std::ranges::lower_bound(sorted, value) - sorted.begin());
  const auto other = [&](size_t i) { return sorted[i < place ? i : i + 1]; };
  const size_t middle = (sorted.size() - 1) / 2;
  if (sorted.size() % 2 == 0) return other(middle);
  return (other(middle) + other(middle - 1)) / 2;
}

}  // namespace sonde::recipes::slow_rank
