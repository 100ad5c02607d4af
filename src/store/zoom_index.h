// Finds the slices of a lane to draw, for any window of time and any width of a pixel, in time that
// does not depend on the number of slices.
//
// A file next to the database, mapped into memory. It has for every lane (a depth of a track) its
// slices, and levels of buckets, each 4 times as wide as those below. A bucket has its longest
// slice and the number of its slices (zoom_format.h). Derived data: Store::Publish makes it
// together with the database; it is made again when it is missing, damaged, or belongs to another
// database. Cost: about 28 bytes a slice; a query reads one level in order, a few buckets for each
// pixel. Where a CPU is the device, its tasks are slices of the host: they are shown once more in a
// lane of their stream. Threads: an open index may be queried from any.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/status.h"
#include "store/zoom_format.h"

namespace sonde::store {

// One rectangle: the longest of `count` slices that begin within one pixel.
struct ZoomSlice {
  int64_t ts;
  int64_t dur;  // -1 unfinished
  int32_t slice_id;
  int32_t name;  // into Store::Names()
  uint32_t count;
};

struct ZoomWindow {
  int64_t begin_ns;
  int64_t end_ns;
  int64_t pixel_ns;  // at least 1
};

class ZoomIndex {
 public:
  // The file of a store: "<name>.zoom" for "<name>.duckdb".
  static std::string PathFor(const std::string& store_path);
  // Fails where the file is missing, damaged, or was built from another store. zoom_open.h also
  // builds it where it is.
  static Result<ZoomIndex> Open(const std::string& path, int64_t store_id);

  // In the order of time: slices that touch the window, at most one that begins in each pixel, and
  // the one that reaches in from the left. Nothing for a lane that does not exist. Slices that
  // begin within one pixel of an edge of the window may be counted inside or outside of it.
  void Query(int32_t track_id, int32_t depth, const ZoomWindow& window,
             std::vector<ZoomSlice>& out) const;

  // By track and depth; track_id, depth and count are of use outside, and whether `ids` is 0: else
  // its slices are tasks, which are in a lane of the host as well.
  std::span<const ZoomFileLane> lanes() const { return lanes_; }
  // Begin of the first slice of a lane and end of the last; an unfinished one ends where it begins.
  std::pair<int64_t, int64_t> ExtentOf(const ZoomFileLane& lane) const;

 private:
  template <class Item>
  std::span<const Item> Array(uint64_t place, uint64_t count) const {
    return {reinterpret_cast<const Item*>(file_.data() + place), count};
  }
  const ZoomFileLane* FindLane(int32_t track_id, int32_t depth) const;
  int64_t DurOf(const ZoomFileLane& lane, uint32_t dur, uint64_t index) const;
  int32_t IdOf(const ZoomFileLane& lane, uint64_t index) const;
  void QuerySlices(const ZoomFileLane& lane, size_t first, const ZoomWindow& window,
                   std::vector<ZoomSlice>& out) const;
  void QueryLevel(const ZoomFileLane& lane, const ZoomFileLevel& level, const ZoomWindow& window,
                  std::vector<ZoomSlice>& out) const;
  bool ReadTail(int64_t store_id);
  bool Fits() const;

  base::MappedFile file_;
  std::span<const ZoomFileLane> lanes_;
  std::span<const ZoomFileLevel> levels_;
};

}  // namespace sonde::store
