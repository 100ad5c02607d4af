// Rows with impossible times.
#include <gtest/gtest.h>

#include "importers/rows/trace_rows.h"

namespace sonde::importers {
namespace {

constexpr int64_t kTodayNs = 1'736'408'883'694'000'000;

class ImpossibleRows : public ::testing::Test {
 protected:
  void SetUp() override {
    rows_.source = "a.db";
    const int32_t process = rows_.Process(1);
    thread_ = rows_.Track(
        {.kind = capture::TrackKind::kThread, .name = "Thread 1", .process_id = process});
    stream_ = rows_.Track(
        {.kind = capture::TrackKind::kStream, .name = "Stream 7", .process_id = process});
    store::TaskKindRow kind;
    kind.name = rows_.names.Intern("MatMul");
    kind_ = rows_.Kind(kind);
  }
  int32_t Op(int64_t ts, int64_t dur) {
    const int32_t slice = rows_.AddSlice(thread_, ts, dur, rows_.names.Intern("op"), store::kNone);
    rows_.ops.push_back({.slice_id = slice});
    return slice;
  }
  void Task(int64_t ts, int64_t dur, int32_t launch = store::kNone) {
    const int32_t slice =
        rows_.AddSlice(stream_, ts, dur, rows_.names.Intern("MatMul"), store::kNone);
    rows_.tasks.push_back({.slice_id = slice,
                           .track_id = stream_,
                           .ts = ts,
                           .dur = dur,
                           .kind_id = kind_,
                           .launch_slice_id = launch});
  }

  TraceRows rows_;
  int32_t thread_ = 0;
  int32_t stream_ = 0;
  int32_t kind_ = 0;
};

TEST_F(ImpossibleRows, ZerosAreLeftOutWithTheirDetails) {
  Op(0, 0);
  for (int64_t i = 0; i < 5; ++i) Task(kTodayNs + 100 * i, 50, Op(kTodayNs + 100 * i, 20));
  Task(0, 0);
  rows_.pmu.push_back({.task_id = 5});
  rows_.pmu.push_back({.task_id = 4});
  rows_.Arrange();
  EXPECT_EQ(rows_.slices.size(), 10U);
  EXPECT_EQ(rows_.ops.size(), 5U);
  ASSERT_EQ(rows_.tasks.size(), 5U);
  ASSERT_EQ(rows_.pmu.size(), 1U);
  EXPECT_EQ(rows_.pmu[0].task_id, 4);
  for (const store::DeviceTaskRow& task : rows_.tasks) {
    EXPECT_EQ(rows_.slices[static_cast<size_t>(task.launch_slice_id)].ts, task.ts);
  }
  EXPECT_EQ(rows_.issues.Count("trace_time_impossible"), 3);  // a task has a slice, too
}

// Samples of another clock, more than there are events.
TEST_F(ImpossibleRows, SamplesDoNotOutvoteEvents) {
  for (int64_t i = 0; i < 5; ++i) Task(kTodayNs + 100 * i, 50);
  const int32_t counter = rows_.Track({.kind = capture::TrackKind::kCounter, .name = "HBM"});
  for (int64_t i = 0; i < 100; ++i) rows_.counters.push_back({.ts = 1000 + i, .track_id = counter});
  rows_.counters.push_back({.ts = kTodayNs + 20, .track_id = counter});
  rows_.Arrange();
  EXPECT_EQ(rows_.tasks.size(), 5U);
  EXPECT_EQ(rows_.slices.size(), 5U);
  EXPECT_EQ(rows_.counters.size(), 1U);
  EXPECT_EQ(rows_.issues.Count("trace_time_impossible"), 100);
}

}  // namespace
}  // namespace sonde::importers
