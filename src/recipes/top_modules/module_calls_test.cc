// Modules as profilers of frameworks name them, by instance, on a track next to the operators.
#include "recipes/top_modules/module_calls.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "recipes/top_modules/top_modules.h"

namespace sonde::recipes {
namespace {

constexpr int16_t kModuleScope = static_cast<int16_t>(Scope::kModule);
enum Track : int32_t { kOps, kModules, kOtherOps, kStream };
enum Name : int32_t {
  kThread,
  kModule,
  kStreamKind,
  kNet,
  kLinear,
  kOther,
  kMm,
  kLaunch,
  kToDevice
};

// Net_0 [0, 100) calls Linear_3 [10, 40) and one that is named by its path [50, 60).
class ModuleCallsTest : public ::testing::Test {
 protected:
  ModuleCallsTest() {
    data_.names = {
        "thread",     "module",   "stream",           "nn.Module: Net_0", "nn.Module: Linear_3",
        "encoder.fc", "aten::mm", "cudaLaunchKernel", "host_to_device"};
    data_.tracks = tracks_;
    data_.slices = slices_;
    data_.ops = ops_;
    data_.tasks = tasks_;
    data_.flows = flows_;
    data_.last_ns = 1000;
  }
  static store::SliceRow Slice(int32_t id, int64_t ts, int64_t dur, Track track, Name name,
                               int32_t parent = store::kNone) {
    return {.slice_id = id,
            .ts = ts,
            .dur = dur,
            .track_id = track,
            .name = name,
            .depth = parent < 0 ? 0 : 1,
            .parent_id = parent};
  }
  std::vector<store::TrackRow> tracks_ = {
      {.track_id = kOps, .kind = kThread, .thread_id = 0},
      {.track_id = kModules, .kind = kModule, .thread_id = 0},
      {.track_id = kOtherOps, .kind = kThread, .thread_id = 1},
      {.track_id = kStream, .kind = kStreamKind, .device_id = 0, .stream_id = 7}};
  std::vector<store::SliceRow> slices_ = {
      Slice(0, 5, 3, kOps, kMm),       // in the net
      Slice(1, 12, 4, kOps, kMm),      // in its linear layer
      Slice(2, 40, 5, kOps, kLaunch),  // when that has just ended
      Slice(3, 52, 2, kOps, kMm),      // in the other one
      Slice(4, 150, 5, kOps, kMm),     // behind all
      Slice(5, 0, 100, kModules, kNet),
      Slice(6, 10, 30, kModules, kLinear, 5),
      Slice(7, 50, 10, kModules, kOther, 5),
      Slice(8, 20, 5, kOtherOps, kMm),  // meanwhile on another thread
      Slice(9, 200, 8, kStream, kMm)};
  std::vector<store::FrameworkOpRow> ops_ = {{.slice_id = 5, .scope = kModuleScope},
                                             {.slice_id = 6, .scope = kModuleScope},
                                             {.slice_id = 7, .scope = kModuleScope}};
  std::vector<store::DeviceTaskRow> tasks_ = {{.task_id = 0, .dur = 1, .launch_slice_id = 0},
                                              {.task_id = 1, .dur = 10, .launch_slice_id = 1},
                                              {.task_id = 2, .slice_id = 9, .dur = 100},
                                              {.task_id = 3, .dur = 1000, .launch_slice_id = 3},
                                              {.task_id = 4, .dur = 10000, .launch_slice_id = 4},
                                              {.task_id = 5, .dur = 10000, .launch_slice_id = 8}};
  std::vector<store::FlowRow> flows_ = {{.kind = kToDevice, .slice_out = 2, .slice_in = 9}};
  TraceData data_;
};

TEST_F(ModuleCallsTest, InstancesHaveThePathOfThoseAround) {
  const ModuleCalls calls(data_);
  EXPECT_EQ(calls.Path(calls.PathOf(6)), "Net_0.Linear_3");
  EXPECT_EQ(calls.Path(calls.PathOf(7)), "encoder.fc") << "a path is one already";
  EXPECT_EQ(calls.ClassOf(6), "Linear");
  EXPECT_EQ(calls.PathOf(0), store::kNone);
}

TEST_F(ModuleCallsTest, DeviceTimeIsThatOfTheModuleOpenAtTheLaunch) {
  const ModuleCalls calls(data_);
  const std::vector<ModuleRow> rows = TopModules(data_, calls);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].path, "Net_0");
  EXPECT_EQ(rows[0].device_self_ns, 101) << "the operator, and the launch without one";
  EXPECT_EQ(rows[0].device_total_ns, 1111);
  EXPECT_EQ(rows[1].path, "encoder.fc");
  EXPECT_EQ(rows[1].device_self_ns, 1000);
  EXPECT_EQ(rows[2].path, "Net_0.Linear_3");
  EXPECT_EQ(rows[2].device_total_ns, 10);
}

// The tasks of the test above on other calls: first [0, 30) and second [40, 90) call shared
// [10, 20) and [50, 80), the second one also itself, shared [60, 70) in shared.
TEST_F(ModuleCallsTest, ASharedModuleCountsForTheOneThatCalledIt) {
  data_.names = {"thread", "module", "stream", "first", "second", "shared", "aten::mm"};
  slices_.clear();
  const auto add = [this](int64_t ts, int64_t dur, Track track, int32_t name, int32_t parent) {
    const auto id = static_cast<int32_t>(slices_.size());
    slices_.push_back(Slice(id, ts, dur, track, static_cast<Name>(name), parent));
    return id;
  };
  for (const int64_t ts : {5, 12, 41, 55, 65, 75}) add(ts, 1, kOps, 6, store::kNone);
  const int32_t first = add(0, 30, kModules, 3, store::kNone);
  const int32_t inner = add(10, 10, kModules, 5, first);
  const int32_t second = add(40, 50, kModules, 4, store::kNone);
  const int32_t outer = add(50, 30, kModules, 5, second);
  const int32_t deeper = add(60, 10, kModules, 5, outer);
  ops_.clear();
  for (const int32_t id : {first, inner, second, outer, deeper}) {
    ops_.push_back({.slice_id = id, .scope = kModuleScope});
  }
  tasks_.clear();
  int64_t all = 0;
  for (int32_t i = 0; i < 6; ++i) {
    const int64_t dur = int64_t{1} << i;
    tasks_.push_back({.task_id = i, .dur = dur, .launch_slice_id = i});
    all += dur;
  }
  data_.slices = slices_;
  data_.ops = ops_;
  data_.tasks = tasks_;
  data_.flows = {};
  std::map<std::string, std::pair<int64_t, int64_t>> times;
  int64_t self_ns = 0;
  const ModuleCalls calls(data_);  // has the texts of the rows
  for (const ModuleRow& row : TopModules(data_, calls)) {
    times[std::string(row.path)] = {row.device_self_ns, row.device_total_ns};
    self_ns += row.device_self_ns;
  }
  EXPECT_EQ(self_ns, all);
  EXPECT_EQ(times["first"], std::pair(int64_t{1}, int64_t{1 + 2}));
  EXPECT_EQ(times["second"], std::pair(int64_t{4}, int64_t{4 + 8 + 16 + 32}));
  EXPECT_EQ(times["shared"], std::pair(int64_t{2 + 8 + 16 + 32}, int64_t{2 + 8 + 16 + 32}));
}

}  // namespace
}  // namespace sonde::recipes
