// Writes the file of a zoom index (zoom_format.h) from slices in the order of the store.
//
// Memory: a few MB whatever the number of slices, and 4 bytes for each task of the current lane:
// the input of a level is read back from the file. Cost: about 0.03 us a slice. Errors: Status;
// slices out of order end in kCorruptData. One thread.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/status.h"
#include "store/rows.h"
#include "store/zoom_format.h"

namespace sonde::store {

class ZoomWriter {
 public:
  // The file appears under `path` with Commit(), after Finish().
  static Result<ZoomWriter> Create(const std::string& path, int64_t store_id);

  // Rows by slice_id, from 0 on without gaps, a lane after another. The first failure is kept, and
  // returned by Finish.
  void Add(const SliceRow& row) {
    in_order_ &= row.slice_id == next_slice_;
    ++next_slice_;
    Put(row);
  }
  // A slice that is shown once more, in a lane of tasks (row.track_id, depth 0). After all slices,
  // a lane after another, in the order of ts.
  void AddTask(const SliceRow& row) {
    Put(row);
    ids_.push_back(row.slice_id);
  }
  // Whether all rows came in order.
  bool in_order() const { return in_order_; }
  int64_t slices() const { return next_slice_; }
  // Whether a lane of this track has begun.
  bool HasTrack(int32_t track_id) const;

  Status Finish();
  Status Commit() { return file_.Commit(); }

 private:
  static constexpr size_t kBlock = 4096;
  explicit ZoomWriter(base::AtomicFile file, int64_t store_id);

  void Put(const SliceRow& row) {
    if (row.track_id != lane_.track_id || row.depth != lane_.depth || lane_.count == 0) {
      BeginLane(row);
    }
    const uint64_t place = static_cast<uint64_t>(row.ts) - static_cast<uint64_t>(first_ts_);
    in_order_ &= row.ts >= last_ts_;
    const uint64_t change = place ^ last_place_;
    if (change != 0) ++changes_[static_cast<size_t>(std::bit_width(change)) - 1];
    last_place_ = place;
    last_ts_ = row.ts;
    uint32_t dur = static_cast<uint32_t>(row.dur);
    if (row.dur < 0 || row.dur >= int64_t{kZoomLongDur}) {
      dur = kZoomLongDur;
      long_durs_.push_back({lane_.count, row.dur});
    }
    ++lane_.count;
    slices_.push_back({row.ts, dur, row.name});
    if (slices_.size() == kBlock) FlushSlices();
  }
  void BeginLane(const SliceRow& row);
  void EndLane();
  void FlushSlices();
  void WriteLevels();
  template <class Item>
  ZoomFileLevel WriteLevel(uint64_t below, uint64_t count, int shift);
  template <class Item, class Take>
  void ReadBack(uint64_t place, uint64_t count, Take&& take);
  bool IsLonger(const ZoomFileBucket& a, const ZoomFileBucket& b) const;
  void Align();
  template <class Item>
  void Append(const std::vector<Item>& items);
  Status SortLanes();

  base::AtomicFile file_;
  int64_t store_id_;
  Status error_;
  bool in_order_ = true;
  int64_t next_slice_ = 0;
  ZoomFileLane lane_ = {};
  int64_t first_ts_ = 0;
  int64_t last_ts_ = 0;
  uint64_t last_place_ = 0;
  // How often neighbours differ in this bit, and in none above: a level k has a bucket more for
  // each change in bit k or above.
  std::array<uint64_t, 64> changes_ = {};
  std::vector<ZoomFileSlice> slices_;  // not yet in the file
  std::vector<ZoomFileLongDur> long_durs_;
  std::vector<int32_t> ids_;  // of a lane of tasks
  std::vector<ZoomFileLane> lanes_;
  std::vector<ZoomFileLevel> levels_;
};

}  // namespace sonde::store
