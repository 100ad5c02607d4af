// Who launched what, both ways: work without a call, calls without work.
#include "recipes/launch/launch.h"

#include <gtest/gtest.h>

namespace sonde::recipes {
namespace {

class LaunchTest : public ::testing::Test {
 protected:
  enum : int32_t {
    kThread,
    kStream,
    kOp,
    kLaunchCall,
    kGraphLaunch,
    kKernel,
    kArrow,
    kBegin,
    kEnd,
    kCopyCall
  };

  static store::SliceRow Slice(int32_t id, int64_t ts, int32_t name, int32_t parent = -1,
                               int32_t track = 0) {
    return {.slice_id = id,
            .ts = ts,
            .dur = 5,
            .track_id = track,
            .name = name,
            .depth = static_cast<int16_t>(parent < 0 ? 0 : 1),
            .parent_id = parent};
  }
  const TraceData& Data() {
    data_.names = {"thread",
                   "stream",
                   "aten::mm",
                   "cudaLaunchKernel",
                   "cudaGraphLaunch",
                   "gemm",
                   "host_to_device",
                   "cudaStreamBeginCapture",
                   "cudaStreamEndCapture",
                   "cudaMemcpyAsync"};
    data_.tracks = tracks_;
    data_.slices = slices_;
    data_.ops = ops_;
    data_.tasks = tasks_;
    data_.kinds = kinds_;
    data_.flows = flows_;
    return data_;
  }
  std::vector<store::TrackRow> tracks_ = {{.track_id = 0, .kind = kThread, .thread_id = 0},
                                          {.track_id = 1, .kind = kStream, .device_id = 0}};
  // An operator with a launch in it, a launch of a graph in no operator, a copy; work of both.
  std::vector<store::SliceRow> slices_ = {Slice(0, 10, kOp),
                                          Slice(1, 11, kLaunchCall, 0),
                                          Slice(2, 20, kGraphLaunch),
                                          Slice(3, 30, kCopyCall),
                                          Slice(4, 100, kKernel, -1, 1),
                                          Slice(5, 110, kKernel, -1, 1),
                                          Slice(6, 120, kKernel, -1, 1),
                                          Slice(7, 130, kKernel, -1, 1)};
  std::vector<store::FrameworkOpRow> ops_ = {{.slice_id = 0, .scope = 0}};
  std::vector<store::TaskKindRow> kinds_ = {{.kind_id = 0, .name = kKernel}};
  std::vector<store::DeviceTaskRow> tasks_ = {{.task_id = 0, .slice_id = 4, .kind_id = 0},
                                              {.task_id = 1, .slice_id = 5, .kind_id = 0},
                                              {.task_id = 2, .slice_id = 6, .kind_id = 0},
                                              {.task_id = 3, .slice_id = 7, .kind_id = 0}};
  std::vector<store::FlowRow> flows_ = {{.kind = kArrow, .slice_out = 1, .slice_in = 4},
                                        {.kind = kArrow, .slice_out = 2, .slice_in = 5},
                                        {.kind = kArrow, .slice_out = 2, .slice_in = 6}};
  TraceData data_;
};

TEST_F(LaunchTest, MomentOfALaunchIsTheBeginOfItsCall) {
  const Launches launches(Data());
  const LaunchTimes times(data_);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(times.Of(tasks_[i]), data_.Slice(launches.CallOf(i)).ts) << i;
  }
  // Without calls by number: the operator that the importer names, else the work itself.
  EXPECT_EQ(times.Of(tasks_[3]), tasks_[3].ts);
  tasks_[3].launch_slice_id = 0;
  EXPECT_EQ(times.Of(tasks_[3]), slices_[0].ts);
}

TEST_F(LaunchTest, CallAndOperatorOfEveryTask) {
  const Launches launches(Data());
  EXPECT_EQ(launches.calls(), (std::vector<int32_t>{1, 2, 2, -1}));
  EXPECT_EQ(launches.OperatorOf(0), 0);
  EXPECT_EQ(launches.OperatorOf(1), store::kNone) << "a graph's launch is in no operator";
  EXPECT_EQ(launches.OperatorOf(3), store::kNone);
}

TEST_F(LaunchTest, CallsWithoutWorkAreCounted) {
  LaunchCounts counts = CountLaunches(Data());
  EXPECT_EQ(counts.total, 2) << "a copy is none";
  EXPECT_EQ(counts.with_work, 2);
  flows_.erase(flows_.begin());
  counts = CountLaunches(Data());
  EXPECT_EQ(counts.total, 2);
  EXPECT_EQ(counts.with_work, 1);
}

TEST_F(LaunchTest, WithoutWorkOfADeviceNoneHasAny) {
  tasks_.clear();
  flows_.clear();
  const LaunchCounts counts = CountLaunches(Data());
  EXPECT_EQ(counts.total, 2);
  EXPECT_EQ(counts.with_work, 0);
}

TEST_F(LaunchTest, WorkThatNothingTiesToCallsProvesNoLoss) {
  flows_.clear();
  EXPECT_EQ(CountLaunches(Data()).total, 0);
}

TEST_F(LaunchTest, WhatOnlyRecordsAGraphIsNoLaunch) {
  slices_[0].name = kBegin;
  slices_[1].parent_id = -1;
  slices_[3].name = kEnd;
  slices_[2].name = kLaunchCall;
  flows_.erase(flows_.begin() + 1, flows_.end());
  const LaunchCounts counts = CountLaunches(Data());
  EXPECT_EQ(counts.total, 0);
}

}  // namespace
}  // namespace sonde::recipes
