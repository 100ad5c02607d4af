// The row (thread id) on which each event of the framework's layer is drawn.
//
// Operators, modules and Python functions of a thread nest in each other and share the thread's own
// row. Tracks of parallel work (collective works, ranges that overlap) have lanes of their
// own, and so have single module calls or Python functions that only partly overlap an operator or
// annotation: a viewer drops events that neither nest nor are disjoint.
// Cost: calls and operators are each passed in order of time. Threads: read-only after
// construction.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "recipes/trace/trace_data.h"

namespace sonde::exporters {

class FrameworkRows {
 public:
  explicit FrameworkRows(const recipes::TraceData& data);

  // Of the events of a track, but for those that OfSlice moves.
  int64_t OfTrack(int32_t track) const { return track_tids_[static_cast<size_t>(track)]; }
  int64_t OfSlice(const store::SliceRow& slice) const {
    const auto moved = moved_.find(slice.slice_id);
    return moved == moved_.end() ? OfTrack(slice.track_id) : moved->second;
  }
  // Rows that OfSlice moved events to, as pairs of track and row.
  const std::vector<std::pair<int32_t, int64_t>>& extra_rows() const { return extra_rows_; }

 private:
  void MoveCrossing(const recipes::TraceData& data, std::unordered_map<int32_t, int64_t>& lanes);

  std::vector<int64_t> track_tids_;
  std::unordered_map<int32_t, int64_t> moved_;  // slice -> tid
  std::vector<std::pair<int32_t, int64_t>> extra_rows_;
};

}  // namespace sonde::exporters
