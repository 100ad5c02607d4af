#include "recipes/intervals.h"

#include <algorithm>

namespace sonde::recipes {
namespace {

bool StartsEarlier(const Interval& a, const Interval& b) { return a.start_ns < b.start_ns; }

// Appends to a merged list an interval that does not start before the last one.
void Extend(std::vector<Interval>& merged, const Interval& next) {
  if (next.end_ns <= next.start_ns) return;
  if (!merged.empty() && next.start_ns <= merged.back().end_ns) {
    merged.back().end_ns = std::max(merged.back().end_ns, next.end_ns);
  } else {
    merged.push_back(next);
  }
}

}  // namespace

std::vector<Interval> Merge(std::vector<Interval> intervals) {
  if (!std::is_sorted(intervals.begin(), intervals.end(), StartsEarlier)) {
    std::sort(intervals.begin(), intervals.end(), StartsEarlier);
  }
  std::vector<Interval> merged;
  merged.reserve(intervals.size());
  for (const Interval& interval : intervals) Extend(merged, interval);
  return merged;
}

std::vector<Interval> Unite(std::span<const Interval> a, std::span<const Interval> b) {
  std::vector<Interval> merged;
  merged.reserve(a.size() + b.size());
  size_t i = 0;
  size_t j = 0;
  while (i < a.size() || j < b.size()) {
    const bool take_a = j == b.size() || (i < a.size() && a[i].start_ns <= b[j].start_ns);
    Extend(merged, take_a ? a[i++] : b[j++]);
  }
  return merged;
}

std::vector<Interval> Subtract(std::span<const Interval> a, std::span<const Interval> b) {
  std::vector<Interval> rest;
  size_t j = 0;
  for (const Interval& whole : a) {
    int64_t from_ns = whole.start_ns;
    while (j < b.size() && b[j].end_ns <= from_ns) ++j;
    for (size_t k = j; k < b.size() && b[k].start_ns < whole.end_ns; ++k) {
      if (b[k].start_ns > from_ns) rest.push_back({from_ns, b[k].start_ns});
      from_ns = std::max(from_ns, b[k].end_ns);
    }
    if (from_ns < whole.end_ns) rest.push_back({from_ns, whole.end_ns});
  }
  return rest;
}

int64_t TotalNs(std::span<const Interval> intervals) {
  int64_t total_ns = 0;
  for (const Interval& interval : intervals) total_ns += interval.end_ns - interval.start_ns;
  return total_ns;
}

}  // namespace sonde::recipes
