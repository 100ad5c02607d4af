#include "store/zoom_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/test_folder.h"
#include "store/table_writer.h"

namespace sonde::store {
namespace {

struct Slice {
  int64_t ts;
  int64_t dur;
};

// One lane of slices that do not overlap, short and long ones, with gaps.
std::vector<Slice> RandomLane(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<Slice> slices;
  int64_t ts = 1'000'000;
  for (size_t i = 0; i < count; ++i) {
    const auto dur =
        static_cast<int64_t>(random() % 100 == 0 ? random() % 3'000'000 : random() % 2'000);
    slices.push_back({ts, dur});
    ts += dur + static_cast<int64_t>(random() % (random() % 1000 == 0 ? 10'000'000 : 500));
  }
  return slices;
}

class ZoomIndexTest : public ::testing::Test {
 protected:
  void Make(const std::vector<std::vector<Slice>>& lanes, int64_t stamp = 7) {
    auto store = Store::Create(folder_.File("s.duckdb"), {.source_stamp = stamp});
    ASSERT_TRUE(store.ok());
    store_ = std::move(*store);
    auto transaction = store_->Begin();
    auto writer = TableWriter<SliceRow>::Open(*transaction);
    int32_t id = 0;
    for (size_t lane = 0; lane < lanes.size(); ++lane) {
      for (const Slice& slice : lanes[lane]) {
        writer->Append({.slice_id = id,
                        .ts = slice.ts,
                        .dur = slice.dur,
                        .track_id = static_cast<int32_t>(lane / 2),
                        .name = id % 100,
                        .depth = static_cast<int32_t>(lane % 2)});
        ++id;
      }
    }
    ASSERT_TRUE(writer->Close().ok() && transaction->Commit().ok() && store_->Publish().ok());
    ASSERT_TRUE(ZoomIndex::Build(*store_, Path()).ok());
  }
  std::string Path() const { return ZoomIndex::PathFor(store_->path()); }

  base::TestFolder folder_;
  std::unique_ptr<Store> store_;
};

TEST_F(ZoomIndexTest, DrawsWhatCanBeSeen) {
  const std::vector<std::vector<Slice>> lanes = {RandomLane(50'000, 1), RandomLane(300, 2),
                                                 RandomLane(20'000, 3)};
  Make(lanes);
  const auto index = ZoomIndex::Open(Path(), *store_);
  ASSERT_TRUE(index.ok()) << index.status().message();
  EXPECT_EQ(index->lane_count(), 3U);
  std::mt19937_64 random(4);
  for (int round = 0; round < 400; ++round) {
    const size_t lane = random() % lanes.size();
    const std::vector<Slice>& slices = lanes[lane];
    const int64_t length = slices.back().ts - slices.front().ts;
    const int64_t span = std::max<int64_t>(length >> (random() % 20), 1600);
    const int64_t begin = slices.front().ts + static_cast<int64_t>(random() % uint64_t(length));
    const ZoomWindow window{begin, begin + span, span / 1600};
    std::vector<ZoomSlice> drawn;
    index->Query(static_cast<int32_t>(lane / 2), static_cast<int32_t>(lane % 2), window, drawn);
    ASSERT_LE(drawn.size(), 1604U);
    size_t next = 0;
    uint64_t counted = 0;
    int32_t first_id = 0;
    for (size_t i = 0; i < lane; ++i) first_id += static_cast<int32_t>(lanes[i].size());
    uint64_t begins_inside = 0;
    double at_edges = 0;
    for (size_t i = 0; i < slices.size(); ++i) {
      const Slice& slice = slices[i];
      const bool inside = slice.ts < window.end_ns && slice.ts + slice.dur > window.begin_ns;
      begins_inside += slice.ts >= window.begin_ns && slice.ts < window.end_ns ? 1 : 0;
      const bool at_edge = std::abs(slice.ts - window.begin_ns) <= window.pixel_ns ||
                           std::abs(slice.ts - window.end_ns) <= window.pixel_ns;
      at_edges += at_edge ? 1 : 0;
      if (!inside || slice.dur < 2 * window.pixel_ns) continue;
      // Large enough to be seen: drawn as it is.
      const auto id = first_id + static_cast<int32_t>(i);
      while (next < drawn.size() && drawn[next].slice_id < id) ++next;
      ASSERT_TRUE(next < drawn.size() && drawn[next].slice_id == id) << round << " " << i;
      EXPECT_EQ(drawn[next].ts, slice.ts);
      EXPECT_EQ(drawn[next].dur, slice.dur);
      EXPECT_EQ(drawn[next].name, id % 100);
    }
    for (const ZoomSlice& slice : drawn) {
      counted += slice.ts >= window.begin_ns ? slice.count : 0;
    }
    // Only the buckets at both edges may count slices outside, or miss some inside.
    EXPECT_NEAR(static_cast<double>(counted), static_cast<double>(begins_inside), at_edges);
  }
}

TEST_F(ZoomIndexTest, CountsAllSlicesOfAWholeLane) {
  const std::vector<Slice> lane = RandomLane(100'000, 5);
  Make({lane});
  const auto index = ZoomIndex::Open(Path(), *store_);
  ASSERT_TRUE(index.ok());
  std::vector<ZoomSlice> drawn;
  const int64_t span = lane.back().ts - lane.front().ts + 1;
  index->Query(0, 0, {lane.front().ts, lane.back().ts + 1, span / 1600}, drawn);
  uint64_t counted = 0;
  for (const ZoomSlice& slice : drawn) counted += slice.count;
  EXPECT_EQ(counted, lane.size());
  EXPECT_LE(drawn.size(), 1601U);
}

TEST_F(ZoomIndexTest, RefusesFilesOfOthers) {
  Make({RandomLane(1000, 6)});
  const std::string path = Path();
  const std::string bytes = *base::ReadFile(path);
  for (size_t size = 0; size < bytes.size(); size += 97) {
    ASSERT_TRUE(base::WriteFileAtomically(path, bytes.substr(0, size)).ok());
    EXPECT_FALSE(ZoomIndex::Open(path, *store_).ok()) << size;
  }
  ASSERT_TRUE(base::WriteFileAtomically(path, bytes).ok());
  EXPECT_TRUE(ZoomIndex::Open(path, *store_).ok());
  store_.reset();
  Make({RandomLane(1000, 6)}, 8);
  ASSERT_TRUE(base::WriteFileAtomically(path, bytes).ok());
  EXPECT_FALSE(ZoomIndex::Open(path, *store_).ok());
  std::vector<ZoomSlice> drawn;
  EXPECT_FALSE(ZoomIndex::Open(folder_.File("absent"), *store_).ok());
}

}  // namespace
}  // namespace sonde::store
