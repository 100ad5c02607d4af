// Common runs of two sequences, as Python's difflib finds them: the longest run that both have,
// then those before and behind it. Of runs of one length the first of `a` counts, then the first of
// `b`.
//
// Texts are sequences of their bytes. Cost: the number of equal pairs for each run. Pure, any
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sonde::base {

struct CommonRun {
  size_t a = 0;
  size_t b = 0;
  size_t size = 0;
  bool operator==(const CommonRun&) const = default;
};

enum class Popular : uint8_t {
  kCounts,
  // difflib's heuristic: where `b` has 200 elements or more, an element that makes up more than 1 %
  // of it begins no run, but may extend one.
  kBeginsNoRun,
};

// In the order of both.
std::vector<CommonRun> CommonRuns(std::span<const int32_t> a, std::span<const int32_t> b,
                                  Popular popular = Popular::kCounts);

}  // namespace sonde::base
