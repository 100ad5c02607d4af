// Moments that are no slices: marks that a program made and instants of trace events. What to draw
// of those of a track in a window, at most one a pixel.
//
// They are shown on the lane below the slices of their track; those that belong to no track are on
// one of their own. In answers a mark has the id of a slice that there cannot be. The marks of a
// track of usual length stay in memory once they were read, up to a bound for all together; longer
// ones are asked of the database for each window. Threads: any, after Open. Times: nanoseconds of
// the epoch. Errors: those of the store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "serve/track_cache.h"
#include "store/queryable.h"
#include "store/zoom_index.h"

namespace sonde::serve {

// The id of a mark among slices, and back.
constexpr int64_t MarkToSliceId(int64_t mark_id) { return -2 - mark_id; }
constexpr int64_t SliceToMarkId(int64_t slice_id) { return -2 - slice_id; }
constexpr bool IsMark(int64_t slice_id) { return slice_id <= -2; }

struct MarkLane {
  int32_t depth = 0;  // behind those of the slices
  int64_t count = 0;
};

class Marks {
 public:
  // How many marks of one track, and of all together, stay in memory: 16 bytes each.
  static constexpr size_t kLongest = size_t{1} << 20U;
  static constexpr size_t kMostKept = size_t{4} << 20U;
  explicit Marks(size_t longest = kLongest, size_t most_kept = kMostKept)
      : longest_(longest), kept_(most_kept) {}

  // Counts them. Once, before all else.
  Status Open(const store::Queryable& store, const store::ZoomIndex& zoom);

  // By track.
  const std::map<int32_t, MarkLane>& lanes() const { return lanes_; }
  int32_t DepthOf(int32_t track) const;  // -1 for a track without marks
  // The track that stands for none: one behind those of the store.
  int32_t no_track() const { return no_track_; }
  // First and last; 0 and 0 without marks.
  int64_t begin_ns() const { return begin_ns_; }
  int64_t end_ns() const { return end_ns_; }
  // "slice_id < 0 AND track_id = ..." for the rows of table mark_ that are shown on a track.
  std::string Condition(int32_t track) const;

  // In the order of time, at most one that begins in each pixel.
  Status Query(const store::Queryable& store, int32_t track, const store::ZoomWindow& window,
               std::vector<store::ZoomSlice>& out) const;
  // Marks that are in memory now.
  size_t kept() const { return kept_.kept(); }

 private:
  struct Mark {
    int64_t ts;
    int32_t id;
    int32_t name;
  };
  using List = std::vector<Mark>;
  Result<std::shared_ptr<const List>> Kept(const store::Queryable& store, int32_t track) const;
  Result<List> Read(const store::Queryable& store, const std::string& where) const;

  const size_t longest_;
  std::map<int32_t, MarkLane> lanes_;
  int32_t no_track_ = 0;
  int64_t begin_ns_ = 0;
  int64_t end_ns_ = 0;
  mutable TrackCache<List> kept_;
};

}  // namespace sonde::serve
