// Planted gaps: a device that waits for its host, and one that nobody keeps waiting.
#include <gtest/gtest.h>

#include "recipes/registry.h"
#include "store/result_sinks.h"

namespace sonde::recipes {
namespace {

constexpr int32_t kThreadKind = 0;
constexpr int32_t kStreamKind = 1;
constexpr int32_t kLoad = 2;
constexpr int32_t kLaunch = 3;
constexpr int32_t kGemm = 4;
constexpr int32_t kCore = 5;
constexpr int32_t kTrain = 6;

// A thread in "train" launches a kernel, loads data for long, launches another one. Times in ns.
class DeviceGaps : public ::testing::Test {
 protected:
  DeviceGaps() {
    data_.names = {"thread", "stream", "load_batch", "launch", "gemm", "AI_CORE", "train"};
    data_.processes = processes_;
    data_.threads = threads_;
    data_.tracks = tracks_;
    data_.slices = slices_;
    data_.kinds = kinds_;
    data_.tasks = tasks_;
    data_.last_ns = 2000;
  }
  store::ResultTable Rows() {
    const Recipe* recipe = FindRecipe("device_gaps");
    EXPECT_NE(recipe, nullptr);
    store::TableSink rows(*recipe->result);
    recipe->run(DeviceView::Make(data_), rows);
    return rows.table();
  }
  static store::SliceRow Slice(int32_t id, int64_t ts, int64_t dur, int32_t name, int32_t depth) {
    return {.slice_id = id,
            .ts = ts,
            .dur = dur,
            .track_id = 0,
            .name = name,
            .depth = depth,
            .parent_id = depth == 0 ? -1 : 0};
  }
  static store::DeviceTaskRow Task(int32_t id, int64_t ts, int64_t dur, int32_t launch) {
    return {.task_id = id,
            .track_id = 1,
            .ts = ts,
            .dur = dur,
            .kind_id = 0,
            .launch_slice_id = launch};
  }
  std::vector<store::ProcessRow> processes_ = {{.process_id = 0, .pid = 7}};
  std::vector<store::ThreadRow> threads_ = {{.thread_id = 0, .tid = 70, .process_id = 0}};
  std::vector<store::TrackRow> tracks_ = {
      {.track_id = 0, .kind = kThreadKind, .process_id = 0, .thread_id = 0},
      {.track_id = 1, .kind = kStreamKind, .process_id = 0, .device_id = 3, .stream_id = 1}};
  std::vector<store::SliceRow> slices_ = {
      Slice(0, 0, 1500, kTrain, 0), Slice(1, 100, 20, kLaunch, 1), Slice(2, 150, 800, kLoad, 1),
      Slice(3, 960, 20, kLaunch, 1), Slice(4, 985, 10, kLaunch, 1)};
  std::vector<store::TaskKindRow> kinds_ = {
      {.kind_id = 0, .name = kGemm, .op_type = kGemm, .core = kCore}};
  std::vector<store::DeviceTaskRow> tasks_ = {Task(0, 110, 90, 1), Task(1, 1000, 50, 3),
                                              Task(2, 1060, 40, -1)};
  TraceData data_;
};

TEST_F(DeviceGaps, TheLongestShowsTheActivityOfTheThread) {
  const store::ResultTable rows = Rows();
  ASSERT_EQ(rows.rows(), 2U);
  EXPECT_EQ(rows.Int(0, 0), 0) << "process";
  EXPECT_EQ(rows.Int(1, 0), 3) << "device";
  EXPECT_EQ(rows.Int(2, 0), 200) << "start";
  EXPECT_EQ(rows.Int(3, 0), 800) << "duration";
  EXPECT_EQ(rows.Text(4, 0), "gemm");
  EXPECT_EQ(rows.Int(5, 0), 70) << "thread";
  EXPECT_EQ(rows.Int(6, 0), 800) << "in train all the time";
  EXPECT_EQ(rows.Text(7, 0), "load_batch") << "and not train, which lasts longer";
  EXPECT_EQ(rows.Int(8, 0), 2);
}

TEST_F(DeviceGaps, WithoutALaunchTheHostsActivityIsUnknown) {
  const store::ResultTable rows = Rows();
  ASSERT_EQ(rows.rows(), 2U);
  EXPECT_EQ(rows.Int(3, 1), 10);
  for (size_t column = 5; column < 9; ++column) EXPECT_TRUE(rows.IsNull(column, 1)) << column;
}

TEST_F(DeviceGaps, ADeviceThatAlwaysWorksHasNone) {
  tasks_ = {Task(0, 110, 890, 1), Task(1, 1000, 50, 3)};
  data_.tasks = tasks_;
  EXPECT_EQ(Rows().rows(), 0U);
}

}  // namespace
}  // namespace sonde::recipes
