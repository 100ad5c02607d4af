#include "exporters/format/framework_rows.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "exporters/format/lanes.h"
#include "exporters/format/layers.h"

namespace sonde::exporters {
namespace {

using recipes::TraceData;
using store::SliceRow;

bool SharesRow(std::string_view text) {
  const auto kind = capture::TrackKindOf(text);
  return kind == capture::TrackKind::kThread || kind == capture::TrackKind::kModule ||
         kind == capture::TrackKind::kPython;
}

// The depths of a track: slices of one depth are disjoint and sorted by start.
std::vector<std::span<const SliceRow>> DepthsOf(const TraceData& data, int32_t track) {
  const auto before_track = [](const SliceRow& slice, int32_t id) { return slice.track_id < id; };
  const auto begin = std::lower_bound(data.slices.begin(), data.slices.end(), track, before_track);
  const auto end = std::lower_bound(begin, data.slices.end(), track + 1, before_track);
  std::vector<std::span<const SliceRow>> depths;
  for (auto first = begin; first != end;) {
    const int32_t depth = first->depth;
    const auto last = std::partition_point(
        first, end, [depth](const SliceRow& slice) { return slice.depth <= depth; });
    depths.emplace_back(first, last);
    first = last;
  }
  return depths;
}

// One moment among the slices of one depth. Moments mostly ascend, so each is sought from the place
// of the last one: calls in order of time pass over the slices once.
class Cursor {
 public:
  explicit Cursor(std::span<const SliceRow> slices) : slices_(slices) {}

  // The slice that holds the moment strictly inside, or nullptr.
  const SliceRow* Around(const TraceData& data, int64_t moment_ns) {
    Seek(moment_ns);
    if (earlier_ == 0) return nullptr;
    const SliceRow& candidate = slices_[earlier_ - 1];
    return data.EndNs(candidate) > moment_ns ? &candidate : nullptr;
  }

 private:
  void Seek(int64_t moment_ns) {
    const auto is_earlier = [moment_ns](const SliceRow& slice) { return slice.ts < moment_ns; };
    size_t low = earlier_;
    size_t high = earlier_;
    if (low > 0 && !is_earlier(slices_[low - 1])) {
      low = 0;
    } else {
      size_t stride = 1;
      for (; low + stride <= slices_.size() && is_earlier(slices_[low + stride - 1]); stride *= 2) {
        low += stride;
      }
      high = std::min(low + stride - 1, slices_.size());
    }
    const auto first = slices_.begin();
    const auto found = std::partition_point(first + static_cast<ptrdiff_t>(low),
                                            first + static_cast<ptrdiff_t>(high), is_earlier);
    earlier_ = static_cast<size_t>(found - first);
  }

  std::span<const SliceRow> slices_;
  size_t earlier_ = 0;  // how many slices begin before the last moment
};

// The operators of a thread, asked which calls they cross.
class Operators {
 public:
  Operators(const TraceData& data, int32_t track) : data_(data) {
    for (const std::span<const SliceRow> slices : DepthsOf(data, track)) {
      depths_.emplace_back(Cursor(slices), Cursor(slices));
    }
  }

  bool Cross(int64_t start_ns, int64_t end_ns) {
    for (auto& [starts, ends] : depths_) {
      const SliceRow* at_start = starts.Around(data_, start_ns);
      if (at_start != nullptr && data_.EndNs(*at_start) < end_ns) return true;
      const SliceRow* at_end = ends.Around(data_, end_ns);
      if (at_end != nullptr && at_end->ts > start_ns) return true;
    }
    return false;
  }

 private:
  const TraceData& data_;
  std::vector<std::pair<Cursor, Cursor>> depths_;  // for starts and for ends of calls
};

}  // namespace

FrameworkRows::FrameworkRows(const TraceData& data) {
  std::set<std::pair<int32_t, std::string_view>>
      shared;                                  // thread and kind: the first track of each
  std::unordered_map<int32_t, int64_t> lanes;  // used by thread
  for (const store::TrackRow& track : data.tracks) {
    const std::string_view kind = data.Name(track.kind);
    const bool shares = SharesRow(kind) && shared.insert({track.thread_id, kind}).second;
    const int64_t lane = shares ? 0 : ++lanes[track.thread_id];
    track_tids_.push_back(LaneTid(data.TidOf(track.thread_id), lane));
  }
  MoveCrossing(data, lanes);
}

void FrameworkRows::MoveCrossing(const TraceData& data,
                                 std::unordered_map<int32_t, int64_t>& lanes) {
  std::map<int32_t, std::vector<int32_t>> crossing;  // by thread: slices of modules and functions
  std::map<int32_t, Operators> operators;            // by thread
  for (const store::TrackRow& track : data.tracks) {
    const int64_t tid = data.TidOf(track.thread_id);
    if (data.IsOfKind(track, recipes::TrackKind::kThread) && OfTrack(track.track_id) == tid) {
      operators.try_emplace(track.thread_id, data, track.track_id);
    }
  }
  for (const int32_t id :
       data.SlicesOfKinds({recipes::TrackKind::kModule, recipes::TrackKind::kPython})) {
    const SliceRow& slice = data.Slice(id);
    const int32_t thread = data.TrackOf(slice).thread_id;
    const auto own = operators.find(thread);
    if (own == operators.end() || OfTrack(slice.track_id) != data.TidOf(thread)) continue;
    if (own->second.Cross(slice.ts, data.EndNs(slice))) crossing[thread].push_back(id);
  }
  for (auto& [thread, slices] : crossing) {
    std::stable_sort(slices.begin(), slices.end(), [&](int32_t a, int32_t b) {
      const SliceRow& x = data.Slice(a);
      const SliceRow& y = data.Slice(b);
      return x.ts != y.ts ? x.ts < y.ts : data.EndNs(x) > data.EndNs(y);
    });
    NestingLanes places;
    const int64_t first_lane = lanes[thread] + 1;
    for (const int32_t id : slices) {
      const SliceRow& slice = data.Slice(id);
      const size_t before = places.size();
      const auto place = static_cast<int64_t>(places.Place(slice.ts, data.EndNs(slice)));
      moved_[id] = LaneTid(data.TidOf(thread), first_lane + place);
      if (places.size() > before) extra_rows_.emplace_back(slice.track_id, moved_[id]);
    }
  }
}

}  // namespace sonde::exporters
