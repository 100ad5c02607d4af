// Sets of time intervals as sorted lists: union, difference, length.
//
// An interval is half open, [start_ns, end_ns), and empty ones vanish. A set ("merged list") is
// sorted by start and holds no two intervals that touch or overlap; that is what Merge() returns
// and what Subtract() takes. All are O(n) after sorting. Pure, any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sonde::recipes {

struct Interval {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  friend bool operator==(const Interval&, const Interval&) = default;
};

// Any list -> merged list. Input that is sorted already is not sorted again.
std::vector<Interval> Merge(std::vector<Interval> intervals);

// Union of two merged lists.
std::vector<Interval> Unite(std::span<const Interval> a, std::span<const Interval> b);

// The parts of `a` that are not in `b`; both merged lists.
std::vector<Interval> Subtract(std::span<const Interval> a, std::span<const Interval> b);

int64_t TotalNs(std::span<const Interval> intervals);

}  // namespace sonde::recipes
