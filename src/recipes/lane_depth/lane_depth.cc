#include "recipes/lane_depth/lane_depth.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "recipes/recipe.h"

namespace sonde::recipes {
namespace {

// The key of a lane: kind, process, thread, device, stream, level of host calls.
using LaneKey = std::tuple<std::string_view, int32_t, int32_t, int32_t, int32_t, int32_t>;

LaneKey KeyOf(const TraceData& data, const store::TrackRow& track, int32_t level) {
  std::string_view kind = data.Name(track.kind);
  if (data.IsOfKind(track, TrackKind::kModule) || data.IsOfKind(track, TrackKind::kPython)) {
    kind = capture::TextOf(TrackKind::kThread);
  }
  // Planes of a group have no numbers of their own.
  const int32_t own = track.thread_id < 0 && track.stream_id < 0 ? track.track_id : level;
  return {kind, track.process_id, track.thread_id, track.device_id, track.stream_id, own};
}

}  // namespace

std::vector<int32_t> LaneDepths(std::span<const Interval> slices) {
  std::vector<size_t> order(slices.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::tie(slices[a].start_ns, slices[b].end_ns) <
           std::tie(slices[b].start_ns, slices[a].end_ns);
  });
  std::vector<int32_t> depths(slices.size());
  std::vector<int64_t> ends;  // of the last slice, by row
  for (const size_t i : order) {
    const auto free = std::find_if(ends.begin(), ends.end(),
                                   [&](int64_t end) { return end <= slices[i].start_ns; });
    depths[i] = static_cast<int32_t>(free - ends.begin());
    if (free == ends.end()) {
      ends.push_back(slices[i].end_ns);
    } else {
      *free = slices[i].end_ns;
    }
  }
  return depths;
}

std::vector<int32_t> LaneDepths(const TraceData& data) {
  std::vector<int32_t> levels(data.slices.size(), store::kNone);
  for (const store::ApiCallRow& call : data.api_calls) {
    levels[static_cast<size_t>(call.slice_id)] = call.level;
  }
  std::map<LaneKey, std::vector<int32_t>> lanes;
  for (const store::SliceRow& slice : data.slices) {
    const int32_t level = levels[static_cast<size_t>(slice.slice_id)];
    lanes[KeyOf(data, data.TrackOf(slice), level)].push_back(slice.slice_id);
  }
  std::vector<int32_t> depths(data.slices.size());
  for (const auto& [key, ids] : lanes) {
    std::vector<Interval> intervals;
    intervals.reserve(ids.size());
    for (const int32_t id : ids) {
      const store::SliceRow& slice = data.Slice(id);
      intervals.push_back({slice.ts, data.EndNs(slice)});
    }
    const std::vector<int32_t> found = LaneDepths(intervals);
    for (size_t i = 0; i < ids.size(); ++i) depths[static_cast<size_t>(ids[i])] = found[i];
  }
  return depths;
}

namespace {

#define SONDE_COLUMNS_LANE_DEPTH(C)                 \
  C(slice_id, Int, "", KeyOf("slice"), "the slice") \
  C(depth, Int, "", kLabel, "row of its lane, 0 on top")
SONDE_RESULT(LaneDepthRecord, kLaneDepth, "lane_depth", SONDE_COLUMNS_LANE_DEPTH,
             "the row of its lane on which a timeline draws a slice")

void RunLaneDepth(const DeviceView& view, store::RowSink& rows) {
  const std::vector<int32_t> depths = LaneDepths(*view.data);
  for (size_t i = 0; i < depths.size() && rows.wants_more(); ++i) {
    LaneDepthRecord{static_cast<int64_t>(i), depths[i]}.Write(rows);
  }
}

}  // namespace

extern const Recipe kLaneDepthRecipe;
constexpr Recipe kLaneDepthRecipe = {
    &kLaneDepth, Reads<store::SliceRow, store::ApiCallRow>().WithBounds(), &RunLaneDepth};

}  // namespace sonde::recipes
