// Impossible times, found only by the other times of the trace: zeros among present times,
// durations that were never ended, tasks that run over later ones of their stream.
//
// Importers count such times, name their place and leave them out of sums and of the time axis: a
// single one would stretch every view and every sum. Units: nanoseconds. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace sonde::importers {

// A time so far from all others belongs to no trace. A shorter trace has no such times, and needs
// no search.
inline constexpr uint64_t kApartNs = uint64_t{86'400} * 1'000'000'000;

struct TimeWindow {
  int64_t first = std::numeric_limits<int64_t>::min();
  int64_t last = std::numeric_limits<int64_t>::max();
  bool Holds(int64_t ts) const { return ts >= first && ts <= last; }
};

// Distance of two moments, without overflow.
inline uint64_t Distance(int64_t first, int64_t last) {
  return static_cast<uint64_t>(last) - static_cast<uint64_t>(first);
}

// From the first to the last begin of the trace. Outside are zeros, and begins more than kApartNs
// from the rest that are fewer than a quarter of it.
TimeWindow WindowOf(std::vector<int64_t> begins);

// Calls take(i) for the ranges of a stream, in order of begin, that run over later ones: over three
// of them (clocks that are a little off show two), or over one and beyond `limit`.
template <class Begin, class End, class Take>
void ForEachOverrun(size_t count, int64_t limit, const Begin& begin, const End& end,
                    const Take& take) {
  constexpr size_t kCovered = 3;
  for (size_t i = 0; i + 1 < count; ++i) {
    const int64_t end_ns = end(i);
    if (end_ns <= begin(i + 1)) continue;
    const bool covers_many = i + kCovered < count && begin(i + kCovered) < end_ns;
    if (covers_many || end_ns > limit) take(i);
  }
}

}  // namespace sonde::importers
