// What tasks are, and what copies add to a step: planted tasks of one device.
#include "recipes/meaning/meaning.h"

#include <gtest/gtest.h>

namespace sonde::recipes {
namespace {

TEST(Meaning, IsWhatImportersFilledIn) {
  EXPECT_EQ(MeaningOf("GPU", "KERNEL", "gemm"), Work::kComputing);
  EXPECT_EQ(MeaningOf("COMMUNICATION", "KERNEL", "cross_device_reduce_1stage"),
            Work::kCommunication);
  EXPECT_EQ(MeaningOf("GPU", "KERNEL", "my_all_reduce_like_softmax"), Work::kComputing)
      << "names are the importers' business";
  EXPECT_EQ(MeaningOf("AI_CPU", "AI_CPU", "allReduceAicpuKernel"), Work::kCommunication);
  EXPECT_EQ(MeaningOf("CPU", "CPU", "c10d::allreduce_"), Work::kCommunication);
  EXPECT_EQ(MeaningOf("CPU", "CPU", "_C::shm_allreduce"), Work::kCommunication);
  EXPECT_EQ(MeaningOf("CPU", "CPU", "_C::shm_allreduce_like"), Work::kComputing);
  EXPECT_EQ(MeaningOf("", "MEMCPY", "Memcpy HtoD (Pinned -> Device)"), Work::kCopy);
  EXPECT_EQ(MeaningOf("", "MEMSET", "Memset (Device)"), Work::kFill);
  EXPECT_EQ(MeaningOf("", "EVENT_WAIT", "EVENT_WAIT"), Work::kSynchronisation);
  EXPECT_EQ(MeaningOf("", "", "N/A"), Work::kOther);
}

TEST(Meaning, CopiesHaveADirection) {
  EXPECT_EQ(DirectionOf("Memcpy HtoD (Pageable -> Device)"), "host to device");
  EXPECT_EQ(DirectionOf("Memcpy PtoP (Device -> Device)"), "peer to peer");
  EXPECT_EQ(DirectionOf("MemcpyD2H"), "device to host");
  EXPECT_EQ(DirectionOf("__amd_rocclr_copyBuffer"), "unknown");
}

// A step: a copy of 600, a gap of 140, four products of 100; another copy beside the second one.
class Copies : public ::testing::Test {
 protected:
  enum : int32_t { kStreamKind, kGemm, kCoreGpu, kKernelType, kMemcpyType, kToDevice, kToHost };

  Copies() {
    data_.names = {"stream",
                   "gemm",
                   "GPU",
                   "KERNEL",
                   "MEMCPY",
                   "Memcpy HtoD (Pageable -> Device)",
                   "Memcpy DtoH (Device -> Pinned)"};
    data_.tracks = tracks_;
    data_.kinds = kinds_;
    data_.tasks = tasks_;
    data_.last_ns = 2000;
  }
  static store::DeviceTaskRow Task(int32_t id, int32_t kind, int64_t ts, int64_t dur) {
    return {.task_id = id, .track_id = 0, .ts = ts, .dur = dur, .kind_id = kind, .step_id = 5};
  }
  std::vector<store::TrackRow> tracks_ = {
      {.track_id = 0, .kind = kStreamKind, .device_id = 0, .stream_id = 7}};
  std::vector<store::TaskKindRow> kinds_ = {
      {.kind_id = 0, .name = kGemm, .core = kCoreGpu, .task_type = kKernelType},
      {.kind_id = 1, .name = kToDevice, .task_type = kMemcpyType},
      {.kind_id = 2, .name = kToHost, .task_type = kMemcpyType}};
  std::vector<store::DeviceTaskRow> tasks_ = {Task(0, 1, 60, 600),   Task(1, 0, 800, 100),
                                              Task(2, 0, 900, 100),  Task(3, 2, 920, 50),
                                              Task(4, 0, 1000, 100), Task(5, 0, 1100, 100)};
  TraceData data_;
};

TEST_F(Copies, AreAThirdStateOfTheDevice) {
  const DeviceView view = DeviceView::Make(data_);
  ASSERT_EQ(view.devices.size(), 1U);
  ASSERT_EQ(view.devices[0].steps.size(), 1U);
  EXPECT_EQ(view.devices[0].steps[0].computing_ns, 400);
  EXPECT_EQ(view.devices[0].steps[0].stage_ns, 400) << "the vendor's columns know no copies";
  const std::vector<CopyTimes> times = CopyTimesOf(view, 0);
  ASSERT_EQ(times.size(), 1U);
  EXPECT_EQ(times[0].copying_ns, 600) << "not the copy that computing hides";
  EXPECT_EQ(times[0].idle_ns, 140);
  const std::vector<CopySum> sums = SumCopies(view);
  ASSERT_EQ(sums.size(), 2U);
  EXPECT_EQ(sums[0].direction, "host to device");
  EXPECT_EQ(sums[0].total_ns, 600);
  EXPECT_EQ(sums[1].direction, "device to host");
  EXPECT_EQ(sums[1].count, 1);
}

TEST_F(Copies, WithoutThemNothingIsAdded) {
  kinds_[1].task_type = kinds_[2].task_type = store::kNone;
  data_.kinds = kinds_;
  const DeviceView view = DeviceView::Make(data_);
  EXPECT_TRUE(SumCopies(view).empty());
  EXPECT_EQ(CopyTimesOf(view, 0).at(0).copying_ns, 0);
  EXPECT_EQ(CopyTimesOf(view, 0).at(0).idle_ns, 0);
}

}  // namespace
}  // namespace sonde::recipes
