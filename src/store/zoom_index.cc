#include "store/zoom_index.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "base/strings.h"

namespace sonde::store {
namespace {

using Bucket = ZoomIndex::Bucket;
using Lane = ZoomIndex::Lane;
using Level = ZoomIndex::Level;

constexpr uint64_t kMagic = 0x31786d6f6f7a4e53;  // also the byte order
constexpr uint32_t kVersion = 1;
constexpr int64_t kNarrowest = 1024;  // ns
constexpr uint64_t kFewBuckets = 64;

struct Header {
  uint64_t magic = kMagic;
  uint32_t version = kVersion;
  uint32_t bucket_bytes = sizeof(Bucket);
  int64_t source_stamp = 0;
  int64_t slices = 0;
  uint64_t lane_count = 0;
  uint64_t lane_offset = 0;
  uint64_t level_count = 0;
  uint64_t level_offset = 0;
  uint64_t file_bytes = 0;
};

template <class T>
std::string_view BytesOf(std::span<const T> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

int64_t LengthOf(const Bucket& bucket) { return int64_t{bucket.dur}; }

uint32_t ShortDur(int64_t dur) {
  return dur < 0 || dur >= int64_t{ZoomIndex::kLongDur} ? ZoomIndex::kLongDur
                                                        : static_cast<uint32_t>(dur);
}

class Builder {
 public:
  explicit Builder(base::AtomicFile& file) : file_(file) {}

  // Slices are stored in the order of their numbers, if one writer wrote them; where that does not
  // hold, `in_order` becomes false, and with `sort` the database brings them into order first.
  Status Run(const Store& store, bool sort, bool& in_order) {
    in_order = true;
    const std::string sql = "SELECT slice_id, track_id, depth, ts, dur, name FROM slice_";
    const auto take = [&](const Chunk& chunk) -> Status {
      const auto ids = chunk.Values<int32_t>(0);
      for (size_t row = 0; row < chunk.rows() && in_order; ++row) {
        in_order = ids[row] == next_slice_ + static_cast<int64_t>(ts_.size());
        if (in_order) SONDE_RETURN_IF_ERROR(Take(chunk, row));
      }
      return {};
    };
    SONDE_RETURN_IF_ERROR(store.Scan(sort ? sql + " ORDER BY slice_id" : sql, take));
    SONDE_RETURN_IF_ERROR(EndLane());
    return End(store);
  }

 private:
  Status Take(const Chunk& chunk, size_t row) {
    const int32_t track = chunk.Values<int32_t>(1)[row];
    const int32_t depth = chunk.Values<int32_t>(2)[row];
    if (ts_.empty() || track != lane_.track_id || depth != lane_.depth) {
      SONDE_RETURN_IF_ERROR(EndLane());
      lane_.track_id = track;
      lane_.depth = depth;
    }
    ts_.push_back(chunk.Values<int64_t>(3)[row]);
    dur_.push_back(chunk.Values<int64_t>(4)[row]);
    name_.push_back(chunk.Values<int32_t>(5)[row]);
    return {};
  }

  template <class T>
  Result<uint64_t> Append(const std::vector<T>& values) {
    while (file_.bytes_written() % 8 != 0) SONDE_RETURN_IF_ERROR(file_.Append({"\0", 1}));
    const uint64_t offset = file_.bytes_written();
    SONDE_RETURN_IF_ERROR(file_.Append(BytesOf(std::span<const T>(values))));
    return offset;
  }

  Status EndLane() {
    if (ts_.empty()) return {};
    lane_.first_slice = next_slice_;
    lane_.count = static_cast<uint32_t>(ts_.size());
    next_slice_ += static_cast<int32_t>(ts_.size());
    SONDE_ASSIGN_OR_RETURN(lane_.ts_offset, Append(ts_));
    SONDE_ASSIGN_OR_RETURN(lane_.dur_offset, Append(dur_));
    SONDE_ASSIGN_OR_RETURN(lane_.name_offset, Append(name_));
    lane_.first_level = static_cast<uint32_t>(levels_.size());
    SONDE_RETURN_IF_ERROR(WriteLevels());
    lane_.level_count = static_cast<uint32_t>(levels_.size()) - lane_.first_level;
    lanes_.push_back(lane_);
    ts_.clear();
    dur_.clear();
    name_.clear();
    return {};
  }

  // Levels that do not shrink by much are left out.
  Status WriteLevels() {
    std::vector<Bucket> below(ts_.size());
    for (size_t i = 0; i < ts_.size(); ++i) {
      below[i] = {ts_[i], ShortDur(dur_[i]), 1, static_cast<uint32_t>(i), name_[i], ts_[i]};
    }
    const int64_t length = ts_.back() - ts_.front();
    std::vector<Bucket> level;
    for (int64_t width = kNarrowest; below.size() > kFewBuckets && width / 4 < length; width *= 4) {
      Widen(below, width, level);
      if (static_cast<double>(level.size()) > 0.6 * static_cast<double>(below.size())) continue;
      SONDE_ASSIGN_OR_RETURN(const uint64_t offset, Append(level));
      levels_.push_back({width, offset, level.size()});
      below.swap(level);
    }
    return {};
  }

  static void Widen(const std::vector<Bucket>& below, int64_t width, std::vector<Bucket>& level) {
    level.clear();
    const int64_t first = below.front().begin;
    int64_t place = -1;
    for (const Bucket& bucket : below) {
      const int64_t here = (bucket.begin - first) / width;
      if (here != place) {
        level.push_back(bucket);
        place = here;
        continue;
      }
      Bucket& kept = level.back();
      const uint32_t count = kept.count + bucket.count;
      const int64_t begin = kept.begin;
      if (LengthOf(bucket) > LengthOf(kept)) kept = bucket;
      kept.count = count;
      kept.begin = begin;
    }
  }

  Status End(const Store& store) {
    Header header;
    header.source_stamp = store.source_stamp();
    header.slices = next_slice_;
    header.lane_count = lanes_.size();
    header.level_count = levels_.size();
    SONDE_ASSIGN_OR_RETURN(header.lane_offset, Append(lanes_));
    SONDE_ASSIGN_OR_RETURN(header.level_offset, Append(levels_));
    while (file_.bytes_written() % 8 != 0) SONDE_RETURN_IF_ERROR(file_.Append({"\0", 1}));
    header.file_bytes = file_.bytes_written() + sizeof(header);
    // What is known only now stands at the end; Open looks there.
    return file_.Append(BytesOf(std::span<const Header>(&header, 1)));
  }

  base::AtomicFile& file_;
  Lane lane_ = {};
  int32_t next_slice_ = 0;
  std::vector<int64_t> ts_;
  std::vector<int64_t> dur_;
  std::vector<int32_t> name_;
  std::vector<Lane> lanes_;
  std::vector<Level> levels_;
};

// Adds a slice to those drawn; one that begins in the same pixel as the last joins it.
void Draw(const ZoomSlice& slice, const ZoomWindow& window, int64_t& pixel,
          std::vector<ZoomSlice>& out) {
  const int64_t here =
      slice.ts < window.begin_ns ? -1 : (slice.ts - window.begin_ns) / window.pixel_ns;
  if (here < 0 || here != pixel || out.empty()) {
    out.push_back(slice);
    pixel = here;
    return;
  }
  ZoomSlice& last = out.back();
  const uint32_t count = last.count + slice.count;
  const bool longer = last.dur >= 0 && (slice.dur < 0 || slice.dur > last.dur);
  if (longer) last = slice;
  last.count = count;
}

}  // namespace

std::string ZoomIndex::PathFor(const std::string& store_path) {
  std::string_view stem = store_path;
  if (stem.ends_with(".duckdb")) stem.remove_suffix(7);
  return base::Concat(stem, ".zoom");
}

Status ZoomIndex::Build(const Store& store, const std::string& path) {
  for (const bool sort : {false, true}) {
    SONDE_ASSIGN_OR_RETURN(base::AtomicFile file, base::AtomicFile::Create(path));
    bool in_order = false;
    SONDE_RETURN_IF_ERROR(Builder(file).Run(store, sort, in_order));
    if (in_order) return file.Commit();
  }
  return base::CorruptDataError(
      base::Concat("the slices of '", store.path(), "' are not numbered without gaps"));
}

Result<ZoomIndex> ZoomIndex::Open(const std::string& path, const Store& store) {
  ZoomIndex index;
  SONDE_ASSIGN_OR_RETURN(index.file_,
                         base::MappedFile::Open(path, base::MappedFile::Access::kRandom));
  const size_t size = index.file_.size();
  Header header;
  if (size >= sizeof(Header)) {
    std::memcpy(&header, index.file_.data() + size - sizeof(Header), sizeof(Header));
  }
  const bool ours = header.magic == kMagic && header.version == kVersion &&
                    header.bucket_bytes == sizeof(Bucket) && header.file_bytes == size &&
                    header.lane_offset <= size && header.level_offset <= size &&
                    header.lane_count <= (size - header.lane_offset) / sizeof(Lane) &&
                    header.level_count <= (size - header.level_offset) / sizeof(Level);
  if (!ours || header.source_stamp != store.source_stamp()) {
    return base::CorruptDataError(
        base::Concat("'", path, "' is no zoom index of the trace store '", store.path(), "'"));
  }
  const auto* lanes = index.Array<Lane>(header.lane_offset);
  const auto* levels = index.Array<Level>(header.level_offset);
  index.lanes_.assign(lanes, lanes + header.lane_count);
  index.levels_.assign(levels, levels + header.level_count);
  if (!index.Fits()) {
    return base::CorruptDataError(base::Concat("the zoom index '", path, "' is damaged"));
  }
  return index;
}

// Whether all arrays lie within the file.
bool ZoomIndex::Fits() const {
  const uint64_t size = file_.size();
  const auto inside = [&](uint64_t offset, uint64_t count, uint64_t bytes) {
    return offset <= size && offset % 8 == 0 && count <= (size - offset) / bytes;
  };
  for (const Lane& lane : lanes_) {
    if (!inside(lane.ts_offset, lane.count, 8) || !inside(lane.dur_offset, lane.count, 8) ||
        !inside(lane.name_offset, lane.count, 4) || lane.first_level > levels_.size() ||
        lane.level_count > levels_.size() - lane.first_level) {
      return false;
    }
  }
  return std::all_of(levels_.begin(), levels_.end(), [&](const Level& level) {
    return level.width_ns > 0 && inside(level.offset, level.count, sizeof(Bucket));
  });
}

const Lane* ZoomIndex::FindLane(int32_t track_id, int32_t depth) const {
  const auto key = std::pair(track_id, depth);
  const auto lane = std::lower_bound(
      lanes_.begin(), lanes_.end(), key,
      [](const Lane& a, const auto& b) { return std::pair(a.track_id, a.depth) < b; });
  const bool found = lane != lanes_.end() && std::pair(lane->track_id, lane->depth) == key;
  return found ? &*lane : nullptr;
}

void ZoomIndex::Query(int32_t track_id, int32_t depth, const ZoomWindow& window,
                      std::vector<ZoomSlice>& out) const {
  const Lane* lane = FindLane(track_id, depth);
  if (lane == nullptr || lane->count == 0 || window.pixel_ns < 1) return;
  const auto* ts = Array<int64_t>(lane->ts_offset);
  const auto* dur = Array<int64_t>(lane->dur_offset);
  const auto first =
      static_cast<size_t>(std::lower_bound(ts, ts + lane->count, window.begin_ns) - ts);
  // Slices of a lane do not overlap: only the last before the window can reach into it.
  if (first > 0 && (dur[first - 1] < 0 || ts[first - 1] + dur[first - 1] > window.begin_ns)) {
    const auto before = static_cast<int32_t>(first - 1);
    out.push_back({ts[first - 1], dur[first - 1], lane->first_slice + before,
                   Array<int32_t>(lane->name_offset)[before], 1});
  }
  const Level* coarsest = nullptr;
  for (uint32_t i = 0; i < lane->level_count; ++i) {
    const Level& level = levels_[lane->first_level + i];
    if (level.width_ns <= window.pixel_ns) coarsest = &level;
  }
  if (coarsest == nullptr) {
    QueryRaw(*lane, first, window, out);
  } else {
    QueryLevel(*lane, *coarsest, window, out);
  }
}

void ZoomIndex::QueryRaw(const Lane& lane, size_t first, const ZoomWindow& window,
                         std::vector<ZoomSlice>& out) const {
  const auto* ts = Array<int64_t>(lane.ts_offset);
  const auto* dur = Array<int64_t>(lane.dur_offset);
  const auto* name = Array<int32_t>(lane.name_offset);
  int64_t pixel = -1;
  for (size_t i = first; i < lane.count && ts[i] < window.end_ns; ++i) {
    Draw({ts[i], dur[i], lane.first_slice + static_cast<int32_t>(i), name[i], 1}, window, pixel,
         out);
  }
}

// A bucket at the left edge may hold slices that begin before the window; it is drawn when its
// longest begins inside, so that its count may be a little too large there.
void ZoomIndex::QueryLevel(const Lane& lane, const Level& level, const ZoomWindow& window,
                           std::vector<ZoomSlice>& out) const {
  const auto* buckets = Array<Bucket>(level.offset);
  const auto* dur = Array<int64_t>(lane.dur_offset);
  const Bucket* const end = buckets + level.count;
  const Bucket* bucket = std::lower_bound(buckets, end, window.begin_ns,
                                          [](const Bucket& b, int64_t ts) { return b.ts < ts; });
  int64_t pixel = -1;
  for (; bucket < end && bucket->ts < window.end_ns; ++bucket) {
    const uint32_t index = std::min(bucket->index, lane.count - 1);
    const int64_t length = bucket->dur == kLongDur ? dur[index] : int64_t{bucket->dur};
    Draw({bucket->ts, length, lane.first_slice + static_cast<int32_t>(index), bucket->name,
          bucket->count},
         window, pixel, out);
  }
}

}  // namespace sonde::store
