#include "store/zoom_writer.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <tuple>
#include <utility>

#include "base/crc32c.h"

namespace sonde::store {
namespace {

constexpr int kNarrowest = 10;  // buckets of 1 024 ns
constexpr uint64_t kFewBuckets = 64;
// A level that holds nearly as many buckets as the one below is left out.
constexpr double kWorthIt = 0.6;

template <class Item>
std::string_view BytesOf(const std::vector<Item>& items) {
  return {reinterpret_cast<const char*>(items.data()), items.size() * sizeof(Item)};
}

// The contribution of a slice or bucket of the level below to its bucket.
ZoomFileBucket AsBucket(const ZoomFileSlice& slice, uint64_t index) {
  return {slice.ts, slice.dur, slice.name, static_cast<uint32_t>(index), 1};
}
ZoomFileBucket AsBucket(const ZoomFileBucket& bucket, uint64_t /*index*/) { return bucket; }

}  // namespace

ZoomWriter::ZoomWriter(base::AtomicFile file, int64_t store_id)
    : file_(std::move(file)), store_id_(store_id) {
  slices_.reserve(kBlock);
}

Result<ZoomWriter> ZoomWriter::Create(const std::string& path, int64_t store_id) {
  SONDE_ASSIGN_OR_RETURN(base::AtomicFile file, base::AtomicFile::Create(path));
  return ZoomWriter(std::move(file), store_id);
}

void ZoomWriter::BeginLane(const SliceRow& row) {
  EndLane();
  lane_ = {};
  lane_.track_id = row.track_id;
  lane_.depth = row.depth;
  lane_.first_slice = row.slice_id;
  Align();
  lane_.slices = file_.bytes_written();
  first_ts_ = row.ts;
  last_ts_ = row.ts;
  last_place_ = 0;
  changes_.fill(0);
}

void ZoomWriter::EndLane() {
  if (lane_.count == 0) return;
  FlushSlices();
  lane_.long_durs = file_.bytes_written();
  lane_.long_dur_count = static_cast<uint32_t>(long_durs_.size());
  Append(long_durs_);
  if (!ids_.empty()) {
    lane_.ids = file_.bytes_written();
    Append(ids_);
    Align();
  }
  lane_.first_level = levels_.size();
  WriteLevels();
  lane_.level_count = static_cast<uint32_t>(levels_.size() - lane_.first_level);
  lanes_.push_back(lane_);
  lane_.count = 0;
  long_durs_.clear();
  ids_.clear();
}

bool ZoomWriter::HasTrack(int32_t track_id) const {
  const auto is_it = [&](const ZoomFileLane& lane) { return lane.track_id == track_id; };
  return (lane_.count > 0 && is_it(lane_)) || std::any_of(lanes_.begin(), lanes_.end(), is_it);
}

void ZoomWriter::FlushSlices() {
  Append(slices_);
  slices_.clear();
}

void ZoomWriter::Align() {
  constexpr std::string_view kZeros("\0\0\0\0\0\0\0", 7);
  const size_t missing = (8 - file_.bytes_written() % 8) % 8;
  if (missing > 0 && error_.ok()) error_ = file_.Append(kZeros.substr(0, missing));
}

template <class Item>
void ZoomWriter::Append(const std::vector<Item>& items) {
  if (error_.ok()) error_ = file_.Append(BytesOf(items));
}

template <class Item, class Take>
void ZoomWriter::ReadBack(uint64_t place, uint64_t count, Take&& take) {
  std::vector<Item> items(std::min<uint64_t>(count, kBlock * 4));
  for (uint64_t index = 0; index < count && error_.ok();) {
    const uint64_t part = std::min<uint64_t>(items.size(), count - index);
    error_ = file_.ReadBack(place + index * sizeof(Item), items.data(), part * sizeof(Item));
    if (!error_.ok()) return;
    for (uint64_t i = 0; i < part; ++i) take(items[i], index + i);
    index += part;
  }
}

void ZoomWriter::WriteLevels() {
  uint64_t below = lane_.slices;
  uint64_t below_count = lane_.count;
  bool of_slices = true;
  for (int shift = kNarrowest; shift < 64 && below_count > kFewBuckets; shift += 2) {
    uint64_t count = 1;
    for (size_t bit = static_cast<size_t>(shift); bit < changes_.size(); ++bit) {
      count += changes_[bit];
    }
    if (static_cast<double>(count) > kWorthIt * static_cast<double>(below_count)) continue;
    levels_.push_back(of_slices ? WriteLevel<ZoomFileSlice>(below, below_count, shift)
                                : WriteLevel<ZoomFileBucket>(below, below_count, shift));
    below = levels_.back().buckets;
    below_count = levels_.back().count;
    of_slices = false;
  }
}

bool ZoomWriter::IsLonger(const ZoomFileBucket& a, const ZoomFileBucket& b) const {
  if (a.dur != kZoomLongDur || b.dur != kZoomLongDur) return a.dur > b.dur;
  const auto length = [&](const ZoomFileBucket& bucket) {
    const auto found =
        std::lower_bound(long_durs_.begin(), long_durs_.end(), bucket.index,
                         [](const ZoomFileLongDur& d, uint64_t index) { return d.index < index; });
    return static_cast<uint64_t>(found->dur);  // without an end: longer than all
  };
  return length(a) > length(b);
}

template <class Item>
ZoomFileLevel ZoomWriter::WriteLevel(uint64_t below, uint64_t count, int shift) {
  ZoomFileLevel level{int64_t{1} << std::min(shift, 62), file_.bytes_written(), 0};
  std::vector<ZoomFileBucket> buckets;
  buckets.reserve(kBlock);
  uint64_t place = 0;
  // `below` is in front of the buckets that are appended meanwhile.
  ReadBack<Item>(below, count, [&](const Item& item, uint64_t index) {
    const ZoomFileBucket added = AsBucket(item, index);
    const uint64_t here =
        (static_cast<uint64_t>(added.ts) - static_cast<uint64_t>(first_ts_)) >> shift;
    if (here != place || buckets.empty()) {
      if (buckets.size() == kBlock) {
        Append(buckets);
        buckets.clear();
      }
      place = here;
      ++level.count;
      buckets.push_back(added);
      return;
    }
    ZoomFileBucket& bucket = buckets.back();
    const uint32_t total = bucket.count + added.count;
    if (IsLonger(added, bucket)) bucket = added;
    bucket.count = total;
  });
  Append(buckets);
  return level;
}

// By track and depth, as a query searches them. Rows come so, unless a lane was met twice.
Status ZoomWriter::SortLanes() {
  const auto key = [](const ZoomFileLane& lane) { return std::pair(lane.track_id, lane.depth); };
  std::sort(lanes_.begin(), lanes_.end(),
            [&](const auto& a, const auto& b) { return key(a) < key(b); });
  const auto twice = std::adjacent_find(
      lanes_.begin(), lanes_.end(), [&](const auto& a, const auto& b) { return key(a) == key(b); });
  if (!in_order_ || twice != lanes_.end()) {
    return base::CorruptDataError(
        "the slices of the trace store are not numbered by track, depth and time");
  }
  return {};
}

Status ZoomWriter::Finish() {
  EndLane();
  SONDE_RETURN_IF_ERROR(error_);
  SONDE_RETURN_IF_ERROR(SortLanes());
  ZoomFileTail tail;
  tail.store_id = store_id_;
  Align();
  tail.lanes = file_.bytes_written();
  tail.lane_count = lanes_.size();
  Append(lanes_);
  tail.levels = file_.bytes_written();
  tail.level_count = levels_.size();
  Append(levels_);
  tail.file_bytes = file_.bytes_written() + sizeof(tail);
  tail.tables_crc = base::Crc32c(BytesOf(levels_), base::Crc32c(BytesOf(lanes_)));
  tail.tail_crc = base::Crc32c(&tail, offsetof(ZoomFileTail, tail_crc));
  SONDE_RETURN_IF_ERROR(error_);
  return file_.Append({reinterpret_cast<const char*>(&tail), sizeof(tail)});
}

}  // namespace sonde::store
