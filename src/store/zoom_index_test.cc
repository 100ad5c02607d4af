#include "store/zoom_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "base/test_folder.h"
#include "store/table_writer.h"
#include "store/zoom_check.h"
#include "store/zoom_open.h"

namespace sonde::store {
namespace {

struct Slice {
  int64_t ts;
  int64_t dur;
};

// One lane of slices that do not overlap: short and long ones, with gaps, in bursts.
std::vector<Slice> RandomLane(size_t count, uint32_t seed, int64_t longest = 3'000'000) {
  std::mt19937_64 random(seed);
  std::vector<Slice> slices;
  int64_t ts = 1'000'000;
  for (size_t i = 0; i < count; ++i) {
    const auto dur = static_cast<int64_t>(
        random() % 100 == 0 ? random() % static_cast<uint64_t>(longest) : random() % 2'000);
    slices.push_back({ts, dur});
    ts += dur + static_cast<int64_t>(random() % (random() % 1000 == 0 ? 10'000'000 : 500));
  }
  return slices;
}

class ZoomIndexTest : public ::testing::Test {
 protected:
  // Lanes become two depths of a track each. `backwards` writes the rows in the other order.
  void Make(const std::vector<std::vector<Slice>>& lanes, bool in_memory = false,
            bool backwards = false) {
    store_.reset();
    auto store = Store::Create(folder_.File("s.duckdb"), {.rows_in_memory = in_memory});
    ASSERT_TRUE(store.ok());
    store_ = std::move(*store);
    std::vector<SliceRow> rows;
    for (size_t lane = 0; lane < lanes.size(); ++lane) {
      for (const Slice& slice : lanes[lane]) {
        const auto id = static_cast<int32_t>(rows.size());
        rows.push_back({.slice_id = id,
                        .ts = slice.ts,
                        .dur = slice.dur,
                        .track_id = static_cast<int32_t>(lane / 2),
                        .name = id % 100,
                        .depth = static_cast<int32_t>(lane % 2)});
      }
    }
    if (backwards) std::reverse(rows.begin(), rows.end());
    auto transaction = store_->Begin();
    auto writer = TableWriter<SliceRow>::Open(*transaction);
    for (const SliceRow& row : rows) writer->Append(row);
    ASSERT_TRUE(writer->Close().ok() && transaction->Commit().ok());
    const Status published = store_->Publish();
    ASSERT_TRUE(published.ok()) << published.message();
  }
  std::string Path() const { return ZoomIndex::PathFor(store_->path()); }

  // A store with two lanes of track 1, of which every third slice is a task of stream 7. They are
  // stored in the order of time, or those of the first lane first. Returns them in that of time.
  std::vector<NaiveSlice> MakeTasks(bool in_order) {
    store_ = std::move(*Store::Create(folder_.File("s.duckdb")));
    std::vector<SliceRow> rows;
    for (int32_t id = 0; id < 10'000; ++id) {
      rows.push_back({.slice_id = id,
                      .ts = 1'000 + id % 5'000 * 900 + id / 5'000 * 450,
                      .dur = 100 + id % 300,
                      .track_id = 1,
                      .name = id % 10,
                      .depth = id / 5'000});
    }
    std::vector<SliceRow> tasks;
    for (size_t i = 0; i < rows.size(); i += 3) tasks.push_back(rows[i]);
    const auto by_time = [](const SliceRow& a, const SliceRow& b) { return a.ts < b.ts; };
    if (in_order) std::sort(tasks.begin(), tasks.end(), by_time);
    for (SliceRow& task : tasks) task.track_id = 7;
    tasks.push_back(rows[0]);  // a stream that has slices keeps them
    WriteTasks(rows, tasks);
    tasks.pop_back();
    std::sort(tasks.begin(), tasks.end(), by_time);
    std::vector<NaiveSlice> made;
    for (const SliceRow& row : tasks) made.push_back({row.ts, row.dur, row.slice_id, row.name});
    return made;
  }

  void WriteTasks(const std::vector<SliceRow>& rows, const std::vector<SliceRow>& tasks) {
    auto transaction = store_->Begin();
    auto slices = TableWriter<SliceRow>::Open(*transaction);
    for (const SliceRow& row : rows) slices->Append(row);
    auto kinds = TableWriter<TaskKindRow>::Open(*transaction);
    for (int32_t name = 0; name < 10; ++name) kinds->Append({.kind_id = name + 50, .name = name});
    auto device = TableWriter<DeviceTaskRow>::Open(*transaction);
    for (const SliceRow& row : tasks) {
      device->Append({.slice_id = row.slice_id,
                      .track_id = row.track_id,
                      .ts = row.ts,
                      .dur = row.dur,
                      .kind_id = row.name + 50});
    }
    ASSERT_TRUE(slices->Close().ok() && kinds->Close().ok() && device->Close().ok());
    ASSERT_TRUE(transaction->Commit().ok());
    ASSERT_TRUE(store_->Publish().ok());
  }

  void Check(uint64_t seed) {
    const auto index = ZoomIndex::Open(Path(), store_->store_id());
    ASSERT_TRUE(index.ok()) << index.status().message();
    CheckZoomIndex(*store_, *index, seed);
  }

  base::TestFolder folder_;
  std::unique_ptr<Store> store_;
};

TEST_F(ZoomIndexTest, DrawsWhatCanBeSeen) {
  std::vector<Slice> unfinished = RandomLane(5'000, 4);
  unfinished.back().dur = -1;
  std::vector<Slice> far_apart = RandomLane(300, 5, int64_t{20'000'000'000});
  for (size_t i = 0; i < far_apart.size(); ++i) {
    far_apart[i].ts += static_cast<int64_t>(i) * 3'600'000'000'000;
  }
  const std::vector<Slice> one = {{77, 0}};
  std::vector<Slice> same_moment(200, {500, 0});
  Make({RandomLane(50'000, 1), RandomLane(300, 2), RandomLane(20'000, 3, 100'000'000'000),
        unfinished, far_apart, one, same_moment});
  for (uint64_t seed = 0; seed < 5; ++seed) Check(seed);
}

TEST_F(ZoomIndexTest, IsTheSameFromEverySource) {
  const std::vector<std::vector<Slice>> lanes = {RandomLane(9'000, 1), RandomLane(70, 2), {}};
  Make(lanes, true);
  Check(1);
  const std::string from_rows = *base::ReadFile(Path());
  Make(lanes, false);
  Check(2);
  Make(lanes, false, true);
  Check(3);
  Make(lanes, true, true);
  Check(4);
  // All but the tail, which names the store.
  EXPECT_EQ(base::ReadFile(Path())->substr(0, from_rows.size() - sizeof(ZoomFileTail)),
            from_rows.substr(0, from_rows.size() - sizeof(ZoomFileTail)));
}

TEST_F(ZoomIndexTest, CountsAllSlicesOfAWholeLane) {
  const std::vector<Slice> lane = RandomLane(100'000, 5);
  Make({lane});
  const auto index = ZoomIndex::Open(Path(), store_->store_id());
  ASSERT_TRUE(index.ok());
  std::vector<ZoomSlice> drawn;
  const int64_t span = lane.back().ts - lane.front().ts + 1;
  index->Query(0, 0, {lane.front().ts, lane.back().ts + 1, span / 1600}, drawn);
  uint64_t counted = 0;
  for (const ZoomSlice& slice : drawn) counted += slice.count;
  EXPECT_EQ(counted, lane.size());
  EXPECT_LE(drawn.size(), 1601U);
  const auto [begin, end] = index->ExtentOf(index->lanes().front());
  EXPECT_EQ(begin, lane.front().ts);
  EXPECT_EQ(end, lane.back().ts + lane.back().dur);
  drawn.clear();
  index->Query(0, 1, {0, INT64_MAX, 1}, drawn);
  index->Query(1, 0, {0, INT64_MAX, 1}, drawn);
  index->Query(0, 0, {0, INT64_MAX, 0}, drawn);
  EXPECT_TRUE(drawn.empty());
}

TEST_F(ZoomIndexTest, StoresWithoutSlicesHaveNone) {
  Make({});
  EXPECT_FALSE(base::PathExists(Path()));
  const auto built = OpenZoomIndex(*store_);
  ASSERT_TRUE(built.ok()) << built.status().message();
  EXPECT_TRUE(built->lanes().empty());
}

TEST_F(ZoomIndexTest, DamagedFilesAreRefusedAndMadeAgain) {
  Make({RandomLane(1000, 6), RandomLane(100, 7)});
  const std::string path = Path();
  const std::string bytes = *base::ReadFile(path);
  const auto refused = [&](const std::string& text) {
    ASSERT_TRUE(base::WriteFileAtomically(path, text).ok());
    ASSERT_FALSE(ZoomIndex::Open(path, store_->store_id()).ok());
    ASSERT_TRUE(OpenZoomIndex(*store_).ok());
    EXPECT_EQ(*base::ReadFile(path), bytes);
  };
  for (size_t size = 0; size < bytes.size(); size += 997) refused(bytes.substr(0, size));
  // Damage of the tables and the tail is found by their checksums ...
  ZoomFileTail tail;
  std::memcpy(&tail, bytes.data() + bytes.size() - sizeof(tail), sizeof(tail));
  for (size_t at = tail.lanes; at < bytes.size(); at += 5) {
    std::string garbled = bytes;
    garbled[at] = static_cast<char>(garbled[at] ^ 0x40);
    refused(garbled);
  }
  // ... and with any content of the arrays, nothing outside of them is read.
  std::mt19937_64 random(8);
  for (int round = 0; round < 50; ++round) {
    std::string garbled = bytes;
    for (int i = 0; i < 200; ++i) garbled[random() % tail.lanes] = static_cast<char>(random());
    ASSERT_TRUE(base::WriteFileAtomically(path, garbled).ok());
    const auto index = ZoomIndex::Open(path, store_->store_id());
    ASSERT_TRUE(index.ok());
    std::vector<ZoomSlice> drawn;
    for (int64_t pixel = 1; pixel < 100'000'000; pixel *= 7) {
      index->Query(0, 0, {0, pixel * 1600, pixel}, drawn);
      index->Query(0, 1, {-pixel, INT64_MAX, pixel}, drawn);
    }
  }
}

TEST_F(ZoomIndexTest, StreamsWithoutSlicesShowTheirTasks) {
  for (const bool in_order : {true, false}) {
    SCOPED_TRACE(in_order ? "in order" : "in any order");
    const std::vector<NaiveSlice> tasks = MakeTasks(in_order);
    ASSERT_FALSE(HasFatalFailure());
    const auto index = ZoomIndex::Open(Path(), store_->store_id());
    ASSERT_TRUE(index.ok()) << index.status().message();
    ASSERT_EQ(index->lanes().size(), 3U);
    EXPECT_EQ(index->lanes().front().ids, 0U);
    EXPECT_EQ(index->lanes().back().track_id, 7);
    EXPECT_NE(index->lanes().back().ids, 0U);
    for (int64_t pixel = 1; pixel < 10'000; pixel *= 3) {
      const ZoomWindow window{700'000, 700'000 + pixel * 1600, pixel};
      std::vector<ZoomSlice> drawn;
      index->Query(7, 0, window, drawn);
      EXPECT_FALSE(drawn.empty());
      CheckDrawing(tasks, window, drawn);
      ASSERT_FALSE(HasFatalFailure()) << "pixel " << pixel;
    }
  }
}

TEST_F(ZoomIndexTest, AnIndexOfAnotherStoreIsRefused) {
  Make({RandomLane(1000, 6)});
  const std::string bytes = *base::ReadFile(Path());
  Make({RandomLane(1000, 6)});  // the same once more is another store
  EXPECT_TRUE(ZoomIndex::Open(Path(), store_->store_id()).ok());
  ASSERT_TRUE(base::WriteFileAtomically(Path(), bytes).ok());
  EXPECT_FALSE(ZoomIndex::Open(Path(), store_->store_id()).ok());
  EXPECT_FALSE(ZoomIndex::Open(folder_.File("absent"), store_->store_id()).ok());
  const auto built = OpenZoomIndex(*store_);
  ASSERT_TRUE(built.ok());
  CheckZoomIndex(*store_, *built, 9);
}

}  // namespace
}  // namespace sonde::store
