// The order of slices that were collected in any: (track, depth, start), with parents.
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>
#include <tuple>

#include "importers/rows/trace_rows.h"

namespace sonde::importers {
namespace {

class OrderOfSlices : public ::testing::Test {
 protected:
  int32_t Track(const std::string& name) {
    return rows_.Track({.kind = capture::TrackKind::kThread,
                        .name = name,
                        .process_id = process_,
                        .thread_id = static_cast<int32_t>(rows_.tracks.size())});
  }
  int32_t Add(int32_t track, int64_t ts, int64_t dur) {
    return rows_.AddSlice(track, ts, dur, rows_.names.Intern("slice"), store::kNone);
  }
  void ExpectOrder() {
    for (size_t i = 0; i < rows_.slices.size(); ++i) {
      const store::SliceRow& slice = rows_.slices[i];
      ASSERT_EQ(slice.slice_id, static_cast<int32_t>(i));
      if (i > 0) {
        const store::SliceRow& before = rows_.slices[i - 1];
        ASSERT_LE(std::tie(before.track_id, before.depth, before.ts),
                  std::tie(slice.track_id, slice.depth, slice.ts));
      }
      if (slice.parent_id == store::kNone) {
        ASSERT_EQ(slice.depth, 0);
        continue;
      }
      const store::SliceRow& parent = rows_.slices[static_cast<size_t>(slice.parent_id)];
      ASSERT_EQ(parent.track_id, slice.track_id);
      ASSERT_EQ(parent.depth + 1, slice.depth);
      ASSERT_LE(parent.ts, slice.ts);
      ASSERT_GE(parent.ts + parent.dur, slice.ts + slice.dur);
    }
  }

  TraceRows rows_;
  int32_t process_ = rows_.Process(1);
};

TEST_F(OrderOfSlices, InsideOfEachOther) {
  const int32_t second = Track("b");
  const int32_t first = Track("a");
  Add(first, 1100, 20);
  Add(second, 1000, 100);
  Add(first, 1000, 200);
  Add(second, 1000, 100);  // of the same time: inside, in the order of the file
  Add(first, 1100, 50);
  Add(first, 1160, 40);
  rows_.Arrange();
  ASSERT_EQ(rows_.slices.size(), 6U);
  ExpectOrder();
  const auto row = [&](size_t i) {
    const store::SliceRow& slice = rows_.slices[i];
    return std::tuple(slice.track_id, slice.depth, slice.ts, slice.dur, slice.parent_id);
  };
  EXPECT_EQ(row(0), std::tuple(second, 0, 1000, 100, store::kNone));
  EXPECT_EQ(row(1), std::tuple(second, 1, 1000, 100, 0));
  EXPECT_EQ(row(2), std::tuple(first, 0, 1000, 200, store::kNone));
  EXPECT_EQ(row(3), std::tuple(first, 1, 1100, 50, 2));
  EXPECT_EQ(row(4), std::tuple(first, 1, 1160, 40, 2));
  EXPECT_EQ(row(5), std::tuple(first, 2, 1100, 20, 3));
  EXPECT_EQ(rows_.issues.list().size(), 0U);
}

TEST_F(OrderOfSlices, RangesThatDoNotNestAreOnATrackBehindAllOthers) {
  const int32_t first = Track("a");
  const int32_t second = Track("b");
  Add(first, 1000, 100);
  Add(second, 1000, 10);
  Add(first, 1050, 100);
  Add(first, 1070, 10);
  rows_.Arrange();
  ASSERT_EQ(rows_.slices.size(), 4U);
  ExpectOrder();
  EXPECT_EQ(rows_.slices[3].ts, 1050);
  EXPECT_EQ(rows_.slices[3].track_id, 2);
  EXPECT_EQ(rows_.tracks[2].name, rows_.tracks[static_cast<size_t>(first)].name);
}

TEST_F(OrderOfSlices, AnyOfThem) {
  std::mt19937 random(7);  // NOLINT(cert-msc32-c, cert-msc51-cpp): the same numbers each time
  const auto below = [&](uint32_t most) { return static_cast<int64_t>(random() % most); };
  std::array<int32_t, 5> tracks = {};
  for (int32_t& track : tracks) track = Track(std::to_string(&track - tracks.data()));
  for (int i = 0; i < 20'000; ++i) {
    Add(tracks.at(random() % tracks.size()), 1'000'000 + below(50'000), 1 + below(2000));
  }
  rows_.Arrange();
  EXPECT_EQ(rows_.slices.size(), 20'000U);
  ExpectOrder();
}

}  // namespace
}  // namespace sonde::importers
