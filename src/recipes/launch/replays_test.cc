// A graph that was captured in view of the trace: kernels of its replays have the operator whose
// launch put them into it.
#include "recipes/launch/replays.h"

#include <gtest/gtest.h>

#include "recipes/launch/launch.h"

namespace sonde::recipes {
namespace {

class ReplaysTest : public ::testing::Test {
 protected:
  enum : int32_t {
    kThread,
    kStream,
    kMm,
    kAdd,
    kTriton,
    kLaunch,
    kGraph,
    kBegin,
    kEnd,
    kArrow,
    kGemm,
    kSum,
    kOther,
    kCopy,
    kLayer0,
    kLayer1,
    kCore
  };

  int32_t Host(int32_t name, int32_t parent = -1) {
    at_ += 10;
    slices_.push_back({.slice_id = Next(),
                       .ts = at_,
                       .dur = 5,
                       .track_id = 0,
                       .name = name,
                       .parent_id = parent});
    if (name == kMm || name == kAdd || name == kTriton) {
      ops_.push_back({.slice_id = slices_.back().slice_id, .scope = 0});
    }
    return slices_.back().slice_id;
  }
  // An operator of a layer, and its launch.
  int32_t Launch(int32_t op, int32_t layer) {
    const int32_t around = Host(layer);
    const int32_t inner = Host(op, around);
    return Host(kLaunch, inner);
  }
  void Kernels(int32_t call, std::initializer_list<int32_t> names, int32_t stream = 1) {
    for (const int32_t name : names) {
      at_ += 10;
      slices_.push_back({.slice_id = Next(),
                         .ts = at_,
                         .dur = 5,
                         .track_id = stream,
                         .name = name,
                         .parent_id = -1});
      tasks_.push_back({.task_id = static_cast<int32_t>(tasks_.size()),
                        .slice_id = slices_.back().slice_id,
                        .track_id = stream,
                        .kind_id = name == kCopy ? 1 : 0});
      flows_.push_back({.kind = kArrow, .slice_out = call, .slice_in = slices_.back().slice_id});
    }
  }
  // Two layers, in warm-up and then captured; gives the launches of the capture.
  std::vector<int32_t> Capture(int32_t first = kLayer0, int32_t second = kLayer1) {
    Host(kBegin);
    std::vector<int32_t> calls;
    for (const int32_t layer : {first, second}) {
      for (const int32_t op : {kMm, kTriton}) calls.push_back(Launch(op, layer));
    }
    Host(kEnd);
    return calls;
  }
  // Operators of the last tasks, by the launches that captured them.
  std::vector<int32_t> Found(size_t count) {
    data_.names = {"thread",
                   "stream",
                   "aten::mm",
                   "aten::add",
                   "triton_poi_fused_0",
                   "cudaLaunchKernel",
                   "cudaGraphLaunch",
                   "cudaStreamBeginCapture",
                   "cudaStreamEndCapture",
                   "host_to_device",
                   "gemm",
                   "triton_poi_fused_0",
                   "other_kernel",
                   "Memcpy DtoD",
                   "layers.0",
                   "layers.1",
                   "AI_CORE"};
    data_.tracks = tracks_;
    data_.slices = slices_;
    data_.ops = ops_;
    data_.tasks = tasks_;
    data_.kinds = kinds_;
    data_.flows = flows_;
    const Launches launches(data_);
    std::vector<int32_t> found;
    for (size_t i = tasks_.size() - count; i < tasks_.size(); ++i) {
      found.push_back(launches.OperatorOf(i));
    }
    return found;
  }
  std::vector<int32_t> Operators(const std::vector<int32_t>& calls) const {
    std::vector<int32_t> ops;
    for (const int32_t call : calls) {
      ops.push_back(slices_[static_cast<size_t>(call)].parent_id);
    }
    return ops;
  }
  static std::vector<int32_t> None(size_t count) {
    return std::vector<int32_t>(count, store::kNone);
  }

  int32_t Next() const { return static_cast<int32_t>(slices_.size()); }
  int64_t at_ = 0;
  std::vector<store::TrackRow> tracks_ = {{.track_id = 0, .kind = kThread, .thread_id = 0},
                                          {.track_id = 1, .kind = kStream, .device_id = 0},
                                          {.track_id = 2, .kind = kStream, .device_id = 0}};
  std::vector<store::TaskKindRow> kinds_ = {{.kind_id = 0, .name = kGemm, .core = kCore},
                                            {.kind_id = 1, .name = kCopy}};
  std::vector<store::SliceRow> slices_;
  std::vector<store::FrameworkOpRow> ops_;
  std::vector<store::DeviceTaskRow> tasks_;
  std::vector<store::FlowRow> flows_;
  TraceData data_;
};

TEST_F(ReplaysTest, KernelsHaveTheOperatorsOfTheCapture) {
  Kernels(Launch(kMm, kLayer0), {kGemm});
  const std::vector<int32_t> calls = Capture();
  for (int i = 0; i < 2; ++i) Kernels(Host(kGraph), {kGemm, kSum, kGemm, kSum});
  std::vector<int32_t> expected = Operators(calls);
  expected.insert(expected.end(), expected.begin(), expected.begin() + 4);
  EXPECT_EQ(Found(8), expected);
}

TEST_F(ReplaysTest, CopiesCount) {
  const std::vector<int32_t> calls = Capture();
  Kernels(Host(kGraph), {kGemm, kSum, kCopy, kGemm, kSum});
  std::vector<int32_t> expected = Operators(calls);
  expected.insert(expected.begin() + 2, store::kNone);
  EXPECT_EQ(Found(5), expected);
}

TEST_F(ReplaysTest, GraphsThatWereCapturedBeforeAreUnknown) {
  Kernels(Host(kGraph), {kGemm, kSum, kGemm, kSum});
  EXPECT_EQ(Found(4), None(4));
}

TEST_F(ReplaysTest, AnotherNumberOrAnotherNameIsAnotherGraph) {
  Kernels(Launch(kMm, kLayer0), {kGemm});
  Capture();
  Kernels(Host(kGraph), {kGemm, kSum, kGemm});
  EXPECT_EQ(Found(3), None(3));
  Kernels(Host(kGraph), {kSum, kGemm, kSum, kGemm});
  EXPECT_EQ(Found(4), None(4)) << "a generated kernel has the name of its operator";
  Kernels(Host(kGraph), {kOther, kSum, kOther, kSum});
  EXPECT_EQ(Found(4), None(4)) << "a product has launched another kernel";
}

TEST_F(ReplaysTest, TwoCapturesOfTheSameCodeAgree) {
  const std::vector<int32_t> calls = Capture();
  Capture();
  Kernels(Host(kGraph), {kGemm, kSum, kGemm, kSum});
  EXPECT_EQ(Found(4), Operators(calls));
}

TEST_F(ReplaysTest, TwoCapturesOfOtherCodeDoNot) {
  Capture();
  Capture(kLayer1, kLayer0);
  Kernels(Host(kGraph), {kGemm, kSum, kGemm, kSum});
  EXPECT_EQ(Found(4), None(4));
}

TEST_F(ReplaysTest, OnSeveralStreamsThereIsNoOrder) {
  Capture();
  const int32_t call = Host(kGraph);
  Kernels(call, {kGemm, kSum, kGemm});
  Kernels(call, {kSum}, 2);
  EXPECT_EQ(Found(4), None(4));
}

}  // namespace
}  // namespace sonde::recipes
