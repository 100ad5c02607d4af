#include "store/zoom_index.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "base/crc32c.h"
#include "base/strings.h"
#include "store/rows.h"

namespace sonde::store {
namespace {

// Adds a slice to those drawn; one that begins in the same pixel as the last joins it.
class Drawing {
 public:
  Drawing(const ZoomWindow& window, std::vector<ZoomSlice>& out) : window_(window), out_(out) {}

  void Add(const ZoomSlice& slice) {
    if (slice.ts < pixel_end_) {
      ZoomSlice& last = out_.back();
      const uint32_t count = last.count + slice.count;
      const bool longer = last.dur >= 0 && (slice.dur < 0 || slice.dur > last.dur);
      if (longer) last = slice;
      last.count = count;
      return;
    }
    out_.push_back(slice);
    // Unsigned: a damaged file may hold any value.
    const auto begin = static_cast<uint64_t>(window_.begin_ns);
    const auto width = static_cast<uint64_t>(window_.pixel_ns);
    const uint64_t pixel = (static_cast<uint64_t>(slice.ts) - begin) / width;
    pixel_end_ = static_cast<int64_t>(begin + (pixel + 1) * width);
  }

 private:
  const ZoomWindow& window_;
  std::vector<ZoomSlice>& out_;
  int64_t pixel_end_ = INT64_MIN;
};

}  // namespace

std::string ZoomIndex::PathFor(const std::string& store_path) {
  std::string_view stem = store_path;
  if (stem.ends_with(".duckdb")) stem.remove_suffix(7);
  return base::Concat(stem, ".zoom");
}

Result<ZoomIndex> ZoomIndex::Open(const std::string& path, int64_t store_id) {
  ZoomIndex index;
  SONDE_ASSIGN_OR_RETURN(index.file_,
                         base::MappedFile::Open(path, base::MappedFile::Access::kRandom));
  if (!index.ReadTail(store_id) || !index.Fits()) {
    return base::CorruptDataError(
        base::Concat("'", path, "' is damaged, or the zoom index of another trace store"));
  }
  return index;
}

bool ZoomIndex::ReadTail(int64_t store_id) {
  const uint64_t size = file_.size();
  ZoomFileTail tail;
  if (size < sizeof(tail)) return false;
  std::memcpy(&tail, file_.data() + size - sizeof(tail), sizeof(tail));
  const auto inside = [&](uint64_t place, uint64_t count, uint64_t bytes) {
    return place <= size && place % 8 == 0 && count <= (size - place) / bytes;
  };
  if (tail.magic != ZoomFileTail::kMagic ||
      tail.tail_crc != base::Crc32c(&tail, offsetof(ZoomFileTail, tail_crc)) ||
      tail.store_id != store_id || tail.file_bytes != size ||
      !inside(tail.lanes, tail.lane_count, sizeof(ZoomFileLane)) ||
      !inside(tail.levels, tail.level_count, sizeof(ZoomFileLevel))) {
    return false;
  }
  lanes_ = Array<ZoomFileLane>(tail.lanes, tail.lane_count);
  levels_ = Array<ZoomFileLevel>(tail.levels, tail.level_count);
  const uint32_t crc = base::Crc32c(lanes_.data(), lanes_.size_bytes());
  return base::Crc32c(levels_.data(), levels_.size_bytes(), crc) == tail.tables_crc;
}

// Whether all arrays are within the file.
bool ZoomIndex::Fits() const {
  const uint64_t size = file_.size();
  const auto inside = [&](uint64_t place, uint64_t count, uint64_t bytes) {
    return place <= size && place % 8 == 0 && count <= (size - place) / bytes;
  };
  const bool lanes_fit = std::all_of(lanes_.begin(), lanes_.end(), [&](const ZoomFileLane& lane) {
    return lane.count > 0 && inside(lane.slices, lane.count, sizeof(ZoomFileSlice)) &&
           inside(lane.long_durs, lane.long_dur_count, sizeof(ZoomFileLongDur)) &&
           (lane.ids == 0 || inside(lane.ids, lane.count, sizeof(int32_t))) &&
           lane.first_level <= levels_.size() &&
           lane.level_count <= levels_.size() - lane.first_level;
  });
  return lanes_fit && std::all_of(levels_.begin(), levels_.end(), [&](const ZoomFileLevel& level) {
           return level.width_ns > 0 && inside(level.buckets, level.count, sizeof(ZoomFileBucket));
         });
}

const ZoomFileLane* ZoomIndex::FindLane(int32_t track_id, int32_t depth) const {
  const auto key = std::pair(track_id, depth);
  const auto lane = std::lower_bound(
      lanes_.begin(), lanes_.end(), key,
      [](const ZoomFileLane& a, const auto& b) { return std::pair(a.track_id, a.depth) < b; });
  const bool found = lane != lanes_.end() && std::pair(lane->track_id, lane->depth) == key;
  return found ? &*lane : nullptr;
}

int64_t ZoomIndex::DurOf(const ZoomFileLane& lane, uint32_t dur, uint64_t index) const {
  if (dur != kZoomLongDur) return int64_t{dur};
  const auto list = Array<ZoomFileLongDur>(lane.long_durs, lane.long_dur_count);
  const auto found =
      std::lower_bound(list.begin(), list.end(), index,
                       [](const ZoomFileLongDur& d, uint64_t i) { return d.index < i; });
  return found != list.end() && found->index == index ? found->dur : int64_t{dur};
}

int32_t ZoomIndex::IdOf(const ZoomFileLane& lane, uint64_t index) const {
  if (lane.ids == 0) return static_cast<int32_t>(lane.first_slice + static_cast<int64_t>(index));
  // A bucket of a damaged file may name any.
  return index < lane.count ? Array<int32_t>(lane.ids, lane.count)[index] : kNone;
}

std::pair<int64_t, int64_t> ZoomIndex::ExtentOf(const ZoomFileLane& lane) const {
  const auto slices = Array<ZoomFileSlice>(lane.slices, lane.count);
  const ZoomFileSlice& last = slices.back();  // the file was refused if a lane has none
  const int64_t dur = DurOf(lane, last.dur, lane.count - 1);
  // Unsigned: a damaged file may hold any value.
  const uint64_t end =
      static_cast<uint64_t>(last.ts) + static_cast<uint64_t>(std::max<int64_t>(dur, 0));
  return {slices.front().ts, static_cast<int64_t>(end)};
}

void ZoomIndex::Query(int32_t track_id, int32_t depth, const ZoomWindow& window,
                      std::vector<ZoomSlice>& out) const {
  const ZoomFileLane* lane = FindLane(track_id, depth);
  if (lane == nullptr || window.pixel_ns < 1) return;
  const auto slices = Array<ZoomFileSlice>(lane->slices, lane->count);
  const auto at =
      std::lower_bound(slices.begin(), slices.end(), window.begin_ns,
                       [](const ZoomFileSlice& slice, int64_t ts) { return slice.ts < ts; });
  const auto first = static_cast<size_t>(at - slices.begin());
  // Slices of a lane do not overlap: only the last before the window can reach into it.
  if (first > 0) {
    const ZoomFileSlice& before = slices[first - 1];
    const int64_t dur = DurOf(*lane, before.dur, first - 1);
    const uint64_t end = static_cast<uint64_t>(before.ts) + static_cast<uint64_t>(dur);
    if (dur < 0 || static_cast<int64_t>(end) > window.begin_ns) {
      out.push_back({before.ts, dur, IdOf(*lane, first - 1), before.name, 1});
    }
  }
  const ZoomFileLevel* coarsest = nullptr;
  for (const ZoomFileLevel& level : levels_.subspan(lane->first_level, lane->level_count)) {
    if (level.width_ns <= window.pixel_ns) coarsest = &level;
  }
  if (coarsest == nullptr) {
    QuerySlices(*lane, first, window, out);
  } else {
    QueryLevel(*lane, *coarsest, window, out);
  }
}

void ZoomIndex::QuerySlices(const ZoomFileLane& lane, size_t first, const ZoomWindow& window,
                            std::vector<ZoomSlice>& out) const {
  const auto slices = Array<ZoomFileSlice>(lane.slices, lane.count);
  Drawing drawing(window, out);
  for (size_t i = first; i < slices.size() && slices[i].ts < window.end_ns; ++i) {
    drawing.Add({slices[i].ts, DurOf(lane, slices[i].dur, i), IdOf(lane, i), slices[i].name, 1});
  }
}

// A bucket at an edge may hold slices of both sides; it is drawn where its longest begins inside.
void ZoomIndex::QueryLevel(const ZoomFileLane& lane, const ZoomFileLevel& level,
                           const ZoomWindow& window, std::vector<ZoomSlice>& out) const {
  const auto buckets = Array<ZoomFileBucket>(level.buckets, level.count);
  const auto first =
      std::lower_bound(buckets.begin(), buckets.end(), window.begin_ns,
                       [](const ZoomFileBucket& bucket, int64_t ts) { return bucket.ts < ts; });
  Drawing drawing(window, out);
  for (auto bucket = first; bucket != buckets.end() && bucket->ts < window.end_ns; ++bucket) {
    drawing.Add({bucket->ts, DurOf(lane, bucket->dur, bucket->index), IdOf(lane, bucket->index),
                 bucket->name, bucket->count});
  }
}

}  // namespace sonde::store
