// Which steps of a trace count where steps are compared or averaged: one rule for all who do.
//
//   unfinished  had not ended when recording ended; does not count where another step had
//   fragment    shorter than kFragmentShare of the median, of three finished steps and more: of two
//               nobody knows whether the other one is a warm-up
//   warm-up     at the beginning of four steps and more, a quarter of them at most: longer than
//               kWarmUp times the median
// The median is that of the steps that had ended. A step that was cut off at the begin of
// recording is a fragment or counts. Pure, any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace sonde::recipes {

inline constexpr double kWarmUp = 1.5;
inline constexpr double kFragmentShare = 0.1;
inline constexpr int64_t kLeastForFragment = 3;

struct StepLength {
  int64_t ns = 0;
  bool is_unfinished = false;
};

struct CountedSteps {
  std::vector<bool> counts;  // parallel to the steps
  int64_t warm_up = 0;
  int64_t unfinished = 0;
  int64_t fragments = 0;
  bool Has(size_t place) const { return counts[place]; }
};

// Steps in the order of begin. Where there are any, one counts at least.
CountedSteps CountSteps(std::span<const StepLength> steps);

}  // namespace sonde::recipes
