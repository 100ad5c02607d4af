// For tests: compares the drawing of a zoom index with a plain walk over all slices of the lane.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "store/queryable.h"
#include "store/zoom_index.h"

namespace sonde::store {

struct NaiveSlice {
  int64_t ts;
  int64_t dur;  // -1 unfinished
  int32_t slice_id;
  int32_t name;
};
using NaiveLanes = std::map<std::pair<int32_t, int32_t>, std::vector<NaiveSlice>>;

inline NaiveLanes LanesOf(const Queryable& tables) {
  NaiveLanes lanes;
  const auto rows =
      tables.Query("SELECT track_id, depth, ts, dur, slice_id, name FROM slice_ ORDER BY slice_id");
  EXPECT_TRUE(rows.ok()) << rows.status().message();
  for (size_t i = 0; rows.ok() && i < rows->rows(); ++i) {
    const auto number = [&](size_t column) { return static_cast<int32_t>(rows->Int(column, i)); };
    lanes[{number(0), number(1)}].push_back(
        {rows->Int(2, i), rows->Int(3, i), number(4), number(5)});
  }
  // Streams without slices of their own show the slices of their tasks, with names and times of the
  // tasks. An operator's task is its own time, and a launch of MindSpore's runtime has another name
  // than its kernel.
  const auto tasks = tables.Query(
      "SELECT d.track_id, d.ts, d.dur, slice_id, k.name FROM device_task_ d JOIN slice_ s "
      "USING (slice_id) JOIN task_kind_ k USING (kind_id) WHERE d.track_id NOT IN (SELECT track_id "
      "FROM slice_) ORDER BY d.task_id");
  EXPECT_TRUE(tasks.ok()) << tasks.status().message();
  for (size_t i = 0; tasks.ok() && i < tasks->rows(); ++i) {
    const auto number = [&](size_t column) { return static_cast<int32_t>(tasks->Int(column, i)); };
    lanes[{number(0), 0}].push_back({tasks->Int(1, i), tasks->Int(2, i), number(3), number(4)});
  }
  return lanes;
}

// Everything that the comment of ZoomIndex::Query promises, for one lane and window.
inline void CheckDrawing(const std::vector<NaiveSlice>& slices, const ZoomWindow& window,
                         const std::vector<ZoomSlice>& drawn) {
  const int64_t pixel = window.pixel_ns;
  const auto near_edge = [&](int64_t ts) {
    return std::abs(ts - window.begin_ns) <= pixel || std::abs(ts - window.end_ns) <= pixel;
  };
  const auto length = [](int64_t dur) { return dur < 0 ? INT64_MAX : dur; };
  int64_t before = -1;  // pixel drawn last
  size_t at = 0;
  uint64_t counted = 0;
  for (size_t i = 0; i < drawn.size(); ++i) {
    const ZoomSlice& slice = drawn[i];
    while (at < slices.size() && slices[at].slice_id != slice.slice_id) ++at;
    ASSERT_LT(at, slices.size());
    ASSERT_TRUE(slices[at].ts == slice.ts && slices[at].dur == slice.dur &&
                slices[at].name == slice.name);
    ASSERT_LT(slice.ts, window.end_ns);
    if (slice.ts < window.begin_ns) {
      ASSERT_TRUE(i == 0 && (slice.dur < 0 || slice.ts + slice.dur > window.begin_ns));
      continue;
    }
    const int64_t here = (slice.ts - window.begin_ns) / pixel;
    ASSERT_GT(here, before) << "two rectangles in one pixel";
    before = here;
    counted += slice.count;
  }
  size_t begins_inside = 0;
  size_t at_edges = 0;
  size_t next = 0;  // drawn, at or behind two pixels before the slice
  for (const NaiveSlice& slice : slices) {
    const bool begins = slice.ts >= window.begin_ns && slice.ts < window.end_ns;
    const bool reaches_in =
        slice.ts < window.begin_ns && (slice.dur < 0 || slice.ts + slice.dur > window.begin_ns);
    begins_inside += begins ? 1 : 0;
    at_edges += near_edge(slice.ts) ? 1 : 0;
    if (!begins && !reaches_in) continue;
    while (next < drawn.size() && slice.ts - drawn[next].ts >= 2 * pixel) ++next;
    bool found = false;
    const bool is_large = reaches_in || length(slice.dur) >= 2 * pixel;
    for (size_t i = reaches_in ? 0 : next; i < drawn.size() && !found; ++i) {
      if (drawn[i].ts - slice.ts >= 2 * pixel) break;
      found = is_large ? drawn[i].slice_id == slice.slice_id
                       : length(drawn[i].dur) >= length(slice.dur);
    }
    ASSERT_TRUE(found || (!is_large && near_edge(slice.ts)))
        << "slice " << slice.slice_id << " of " << slice.dur << " ns, pixel of " << pixel;
  }
  ASSERT_NEAR(static_cast<double>(counted), static_cast<double>(begins_inside),
              static_cast<double>(at_edges));
}

// Every lane at every zoom, from the whole trace down to the nanosecond, at random places.
inline void CheckZoomIndex(const Queryable& tables, const ZoomIndex& index, uint64_t seed) {
  const NaiveLanes lanes = LanesOf(tables);
  ASSERT_EQ(index.lanes().size(), lanes.size());
  std::mt19937_64 random(seed);
  for (const auto& [lane, slices] : lanes) {
    const auto length =
        static_cast<uint64_t>(slices.back().ts - slices.front().ts) + uint64_t{2000};
    for (int zoom = 0; (length >> zoom) > 0; ++zoom) {
      const auto span = static_cast<int64_t>(std::max<uint64_t>(length >> zoom, 16));
      // Near a slice, so that there is something to see.
      const NaiveSlice& near = slices[random() % slices.size()];
      const int64_t begin =
          zoom == 0 ? slices.front().ts
                    : near.ts - static_cast<int64_t>(random() % static_cast<uint64_t>(span));
      const int64_t pixels = zoom % 3 == 0 ? 16 : 1600;
      const ZoomWindow window{begin, begin + span, std::max<int64_t>(1, span / pixels)};
      std::vector<ZoomSlice> drawn;
      index.Query(lane.first, lane.second, window, drawn);
      CheckDrawing(slices, window, drawn);
      if (::testing::Test::HasFatalFailure()) {
        FAIL() << "track " << lane.first << " depth " << lane.second << " zoom " << zoom;
      }
    }
  }
}

}  // namespace sonde::store
