// Nesting of the ranges of one track, for all importers: open ranges, their parents, and the tracks
// of ranges that do not nest.
//
// Ranges come in the order of begin, of those that begin together the longer first (BeginsBefore),
// and of equal ones the outer first. A range is inside the innermost that is open; where it ends
// behind that one, or is deeper than kMostDepth, it goes to a further track, is counted as kOverlap
// and keeps its length. Units: nanoseconds. Ends may be INT64_MAX (had not ended). One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "store/import_issues.h"

namespace sonde::importers {

inline constexpr store::IssueKind kOverlap{
    "ranges_overlap", store::Severity::kInfo,
    "ranges of one track overlap without nesting; they were moved to a further track"};
inline constexpr size_t kMostDepth = 65535;

inline bool BeginsBefore(int64_t ts_a, int64_t end_a, int64_t ts_b, int64_t end_b) {
  return ts_a != ts_b ? ts_a < ts_b : end_a > end_b;
}

// The open ranges of one track, outermost first. A Frame has the member `end` and the caller's data
// of an open range.
template <class Frame>
class Nester {
 public:
  // Closes ranges that have ended when a range begins at `ts`.
  void CloseUntil(int64_t ts) {
    while (!open_.empty() && open_.back().end <= ts) open_.pop_back();
  }
  // The same, except for the frame of which stays(frame) is true, and those around it.
  template <class Stays>
  void CloseUntil(int64_t ts, const Stays& stays) {
    while (!open_.empty() && open_.back().end <= ts && !stays(open_.back())) open_.pop_back();
  }
  // The same for a moment, which still belongs to a range that ends with it.
  void CloseBefore(int64_t ts) {
    while (!open_.empty() && open_.back().end < ts) open_.pop_back();
  }
  // Whether a range that ends then may be opened; else it belongs on a further track.
  bool Holds(int64_t end) const {
    return open_.empty() || (end <= open_.back().end && open_.size() < kMostDepth);
  }
  void Open(const Frame& frame) { open_.push_back(frame); }
  void Clear() { open_.clear(); }

  bool empty() const { return open_.empty(); }
  size_t depth() const { return open_.size(); }  // of a range that is opened next
  const Frame& innermost() const { return open_.back(); }
  const std::vector<Frame>& frames() const { return open_; }

 private:
  std::vector<Frame> open_;
};

// Tracks on which no two ranges are open at once, as many as are needed.
class FreeTracks {
 public:
  // The track that became free first, where that is by `ts`, else what make() returns; in use until
  // `end`. Ranges come in the order of begin.
  template <class Make>
  int32_t Take(int64_t ts, int64_t end, const Make& make) {
    int32_t track = 0;
    if (!free_.empty() && free_.top().first <= ts) {
      track = free_.top().second;
      free_.pop();
    } else {
      track = make();
    }
    free_.emplace(end, track);
    return track;
  }
  void Clear() { free_ = {}; }

 private:
  using Free = std::pair<int64_t, int32_t>;  // end of the last range, track
  std::priority_queue<Free, std::vector<Free>, std::greater<>> free_;
};

}  // namespace sonde::importers
