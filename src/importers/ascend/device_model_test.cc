// The model of an Ascend device: two forms of one run become the same rows.
#include "importers/ascend/device_model.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace sonde::importers::ascend {
namespace {

class DeviceModelTest : public ::testing::Test {
 protected:
  int32_t Name(std::string_view text) { return rows_.names.Intern(text); }
  std::string_view Text(int32_t name) const {
    return name < 0 ? std::string_view() : rows_.names.Text(name);
  }
  std::string_view TrackName(int32_t track) const {
    return Text(rows_.tracks[static_cast<size_t>(track)].name);
  }

  TraceRows rows_;
  DeviceRows device_{rows_};
};

// A database has rows of tasks alone; the timeline of texts has slices already.
TEST_F(DeviceModelTest, ATaskIsTheSameFromTablesAndFromATimeline) {
  const store::TaskKindRow kind = device_.KindOf({.name = Name("MatMul_1"),
                                                  .op_type = Name("MatMul"),
                                                  .core = Name("AI_CORE"),
                                                  .block_num = 24,
                                                  .input_shapes = device_.Shapes("\"32,3\"")});
  DeviceTask task{.ts = 100,
                  .dur = 20,
                  .place = {.process_id = 0, .device_id = 1, .stream_id = 7},
                  .kind = kind,
                  .connection_id = 5,
                  .queue_number = 3};
  device_.AddTask(task);
  task.track_id = device_.StreamTrack(task.place);
  task.slice_id = rows_.AddSlice(task.track_id, task.ts, task.dur, kind.name, Name("kernel"));
  device_.AddTask(task);
  ASSERT_EQ(rows_.tasks.size(), 2U);
  store::DeviceTaskRow of_tables = rows_.tasks[0];
  const store::DeviceTaskRow& of_timeline = rows_.tasks[1];
  EXPECT_EQ(of_tables.slice_id, 0);
  EXPECT_EQ(of_timeline.slice_id, 1);
  of_tables.slice_id = of_timeline.slice_id;
  std::vector<int64_t> columns;
  const auto keep = [&](auto value) { columns.push_back(static_cast<int64_t>(value)); };
  store::RowTraits<store::DeviceTaskRow>::Visit(of_tables, keep);
  const std::vector<int64_t> expected = std::exchange(columns, {});
  store::RowTraits<store::DeviceTaskRow>::Visit(of_timeline, keep);
  EXPECT_EQ(columns, expected);
  EXPECT_EQ(rows_.slices[0].category, rows_.slices[1].category);
  EXPECT_EQ(Text(rows_.kinds[0].input_shapes), "32,3");
}

TEST_F(DeviceModelTest, AKernelOfUnknownCoreIsAKernelStill) {
  EXPECT_EQ(Text(device_.KindOf({.name = Name("add")}).core), "N/A");
  device_.AddTask({.ts = 1, .dur = 1, .kind = device_.KindOf({.name = Name("add")})});
  DeviceTask event{.ts = 2, .dur = 1};
  event.kind.name = Name("EVENT_WAIT");
  device_.AddTask(event);
  EXPECT_EQ(Text(rows_.slices[0].category), "kernel");
  EXPECT_EQ(Text(rows_.slices[1].category), "device_task");
}

TEST_F(DeviceModelTest, APartOfACommunicationIsShownOnItsPlane) {
  DeviceTask part{.ts = 1, .dur = 1, .place = {.device_id = 0, .stream_id = 2}, .plane = 4};
  part.kind.name = Name("Memcpy");
  device_.AddTask(part);
  EXPECT_EQ(TrackName(rows_.slices[0].track_id), "Plane 4");
  EXPECT_EQ(TrackName(rows_.tasks[0].track_id), "Stream 2");
}

TEST_F(DeviceModelTest, HiddenTasksHaveNoSlice) {
  device_.AddTask({.ts = 1, .dur = -5, .is_shown = false});
  bool has_size = false;
  device_.AddOperation({.ts = 1, .name = Name("hcom_send__1_0_1"), .is_shown = false}, has_size);
  EXPECT_TRUE(rows_.slices.empty());
  EXPECT_EQ(rows_.tasks[0].dur, 0);
  EXPECT_TRUE(has_size);  // no size was given
}

TEST_F(DeviceModelTest, AnOperationHasItsTypeGroupAndSize) {
  bool has_size = false;
  CommunicationOp op{.ts = 10,
                     .dur = 5,
                     .process_id = 0,
                     .device_id = 0,
                     .name = Name("hcom_allReduce__586_0_1"),
                     .group = "group_a",
                     .data_type = Name("FP32"),
                     .count = 100};
  device_.AddOperation(op, has_size);
  EXPECT_TRUE(has_size);
  op.type = "hcom_send_";
  op.group = {};
  op.count = INT64_MAX;
  device_.AddOperation(op, has_size);
  EXPECT_FALSE(has_size);
  const store::CommunicationOpRow& grouped = rows_.communications[0];
  EXPECT_EQ(Text(grouped.op_type), "allreduce");
  EXPECT_EQ(Text(grouped.group_name), "group_a");
  EXPECT_EQ(grouped.size_bytes, 400);
  EXPECT_EQ(grouped.is_p2p, 0);
  EXPECT_EQ(TrackName(rows_.slices[0].track_id), "Group group_a Communication");
  EXPECT_EQ(Text(rows_.communications[1].op_type), "send");
  EXPECT_EQ(rows_.communications[1].group_name, store::kNone);
  EXPECT_EQ(TrackName(rows_.slices[1].track_id), "Communication");
}

TEST_F(DeviceModelTest, OlderFilesCallCommunicationHccl) {
  const int32_t thread = rows_.Thread(rows_.Process(42), 43);
  device_.AddCall(
      {.ts = 1, .dur = 2, .thread_id = thread, .name = Name("x"), .level = Name("hccl")});
  EXPECT_EQ(Text(rows_.api_calls[0].level), "communication");
  EXPECT_EQ(TrackName(rows_.slices[0].track_id), "Thread 43");
}

TEST_F(DeviceModelTest, CountersOfDatabasesAreThoseOfTexts) {
  device_.AddCounter(
      {.task = 0, .name = Name("aic_total_time"), .value = 1500, .is_of_database = true});
  device_.AddCounter({.task = 0, .name = Name("aicore_time(us)"), .value = 1.5});
  device_.AddCounter({.task = 0, .name = Name("mac_ratio"), .value = 0.5, .is_of_database = true});
  EXPECT_EQ(rows_.pmu[0].metric, rows_.pmu[1].metric);
  EXPECT_DOUBLE_EQ(rows_.pmu[0].value, rows_.pmu[1].value);
  EXPECT_EQ(Text(rows_.pmu[2].metric), "mac_ratio");
  EXPECT_DOUBLE_EQ(rows_.pmu[2].value, 0.5);
}

}  // namespace
}  // namespace sonde::importers::ascend
