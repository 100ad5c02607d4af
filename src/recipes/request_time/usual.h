// What something usually takes, given its size: the measure against which excess is counted.
//
// Units: those of the values. Pure, any thread.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace sonde::recipes {

// Of an even number of values the lower median; 0 of none.
int64_t MedianOf(std::vector<int64_t> values);
// Linearly between the values of a list in ascending order; 0 of none.
double QuantileOf(const std::vector<int64_t>& ascending, double share);
// Spread of values around their median that a few extreme ones do not change: for a normal
// distribution its standard deviation.
double SpreadOf(const std::vector<int64_t>& values);

// Medians by size. Sizes that differ by less than a quarter are one; a size counts as known from
// three values on. Between known sizes it interpolates. Beyond the largest one a value may grow in
// proportion, to eight times that size; what is usual farther away is not known. Below the smallest
// it may shrink.
class UsualBySize {
 public:
  UsualBySize() = default;
  explicit UsualBySize(const std::vector<std::pair<int64_t, int64_t>>& values);  // size and value

  bool is_known() const { return !known_.empty(); }
  // Usual for `value` of this size; at most `value` itself where no such size is known.
  int64_t Of(int64_t size, int64_t value) const;

 private:
  std::vector<std::pair<int64_t, int64_t>> known_;  // size and its usual value, ascending
};

}  // namespace sonde::recipes
