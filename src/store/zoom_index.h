// Which slices to draw of a lane, for any window of time and any width of a pixel, in time that
// does not depend on the number of slices.
//
// A file beside the database, mapped into memory: for every lane (a depth of a track) its slices as
// arrays, and levels of buckets, each 4 times as wide as those below, that hold their longest slice
// and how many they are. Derived data: built when a trace is imported, again when it is missing or
// does not belong to the database (stamp). Cost: about 33 bytes a slice; a query reads one level in
// order, at most a few buckets for each pixel. Threads: building is one call; an open index may be
// asked from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/status.h"
#include "store/store.h"

namespace sonde::store {

// One rectangle: the longest of `count` slices that begin within one pixel.
struct ZoomSlice {
  int64_t ts;
  int64_t dur;  // -1 unfinished
  int32_t slice_id;
  int32_t name;
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
  // Complete under its name, or not at all.
  static Status Build(const Store& store, const std::string& path);
  // Fails where the file is missing, damaged, or was built from another store.
  static Result<ZoomIndex> Open(const std::string& path, const Store& store);

  // In the order of time: slices that touch the window, at most one that begins in each pixel, and
  // the one that reaches in from the left. Nothing for a lane that does not exist.
  void Query(int32_t track_id, int32_t depth, const ZoomWindow& window,
             std::vector<ZoomSlice>& out) const;

  struct Lane {
    int32_t track_id;
    int32_t depth;
    int32_t first_slice;  // slice_ids of a lane follow each other
    uint32_t count;
    uint32_t first_level;
    uint32_t level_count;
    uint64_t ts_offset;    // int64 a slice
    uint64_t dur_offset;   // int64 a slice
    uint64_t name_offset;  // int32 a slice
  };
  struct Level {
    int64_t width_ns;
    uint64_t offset;
    uint64_t count;
  };
  struct Bucket {
    int64_t ts;      // of the longest slice
    uint32_t dur;    // the same; kLongDur: look into the array
    uint32_t count;  // slices
    uint32_t index;  // of the longest, within the lane
    int32_t name;    // the same
    int64_t begin;   // of the first slice
  };
  static constexpr uint32_t kLongDur = UINT32_MAX;

  size_t lane_count() const { return lanes_.size(); }
  const std::vector<Lane>& lanes() const { return lanes_; }

 private:
  template <class T>
  const T* Array(uint64_t offset) const {
    return reinterpret_cast<const T*>(file_.data() + offset);
  }
  const Lane* FindLane(int32_t track_id, int32_t depth) const;
  void QueryRaw(const Lane& lane, size_t first, const ZoomWindow& window,
                std::vector<ZoomSlice>& out) const;
  void QueryLevel(const Lane& lane, const Level& level, const ZoomWindow& window,
                  std::vector<ZoomSlice>& out) const;
  bool Fits() const;

  base::MappedFile file_;
  std::vector<Lane> lanes_;  // in the order of track and depth
  std::vector<Level> levels_;
};

}  // namespace sonde::store
