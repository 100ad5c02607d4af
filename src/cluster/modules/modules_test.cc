#include <gtest/gtest.h>

#include <string_view>
#include <tuple>
#include <vector>

#include "cluster/modules/merged_calls.h"
#include "cluster/modules/phases.h"

namespace sonde::cluster {
namespace {

LaunchingOp Op(std::string_view name, int64_t begin, int64_t kernel_ns) {
  return {.name = name,
          .begin = begin,
          .end = begin + 1,
          .kernels = {{.name = "k", .begin = 1000, .end = 1000 + kernel_ns}}};
}

ModuleRange Module(const char* name, int64_t begin, int64_t end) {
  return {.name = name, .begin = begin, .end = end};
}

TEST(PlaceOps, AnOperatorLiesInTheLastModuleThatHoldsItWhole) {
  const std::vector<ModuleRange> modules = {Module("Net", 0, 100), Module("Linear", 10, 20)};
  std::vector<LaunchingOp> ops = {Op("outside", 200, 1), Op("inner", 12, 1), Op("outer", 30, 1)};
  ops.push_back({.name = "crosses", .begin = 15, .end = 25, .kernels = {}});
  ops.push_back({.name = "late", .begin = 17, .end = 18, .kernels = {}});
  const auto placed = PlaceOps(modules, ops);
  ASSERT_EQ(placed.size(), 4U);
  // By the module's begin first. What ends behind a module closes it.
  EXPECT_EQ(ops[placed[0].op].name, "crosses");
  EXPECT_EQ(placed[0].module, "Net");
  EXPECT_EQ(placed[0].parent, "");
  EXPECT_EQ(ops[placed[1].op].name, "late");
  EXPECT_EQ(placed[1].module, "Net");
  EXPECT_EQ(ops[placed[2].op].name, "outer");
  EXPECT_EQ(ops[placed[3].op].name, "inner");
  EXPECT_EQ(placed[3].module, "Linear");
  EXPECT_EQ(placed[3].parent, "Net");
}

TEST(PlaceOps, ModulesInsideBackwardOnesAreBackward) {
  std::vector<ModuleRange> modules = {Module("Net/Block", 0, 100), Module("Linear", 10, 20)};
  modules[0].is_backward = true;
  const auto placed = PlaceOps(modules, {Op("mm", 12, 1)});
  ASSERT_EQ(placed.size(), 1U);
  EXPECT_EQ(placed[0].module, "[Backward]Linear");
  EXPECT_EQ(placed[0].parent, "Net/Block");
}

TEST(MergeCalls, EqualCallsAreOneRow) {
  const std::vector<ModuleRange> modules = {Module("Linear", 10, 20), Module("Linear", 30, 40)};
  const std::vector<LaunchingOp> ops = {Op("mm", 11, 5), Op("add", 13, 1), Op("mm", 31, 7),
                                        Op("add", 33, 2)};
  const auto rows = MergeCalls(PlaceOps(modules, ops), ops);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].op, "mm");
  EXPECT_EQ(rows[0].module, "Linear");
  EXPECT_EQ(rows[0].count, 2);
  EXPECT_EQ(rows[0].total_ns, 12);
  EXPECT_EQ(rows[1].op, "add");
  EXPECT_EQ(rows[1].total_ns, 3);
}

// Rows of a trace with two threads' worth of slices: the host's, and those of the device behind it.
class PhasesTest : public ::testing::Test {
 protected:
  void Slice(std::string_view name, int64_t ts, int64_t dur, bool is_host = true) {
    slices_.push_back({.ts = ts, .dur = dur, .track_id = is_host ? 0 : 1, .name = Text(name)});
  }
  void Count(int32_t track, int64_t ts, double value) {
    counters_.push_back({.ts = ts, .track_id = track, .value = value});
  }
  int32_t Text(std::string_view text) {
    data_.names.push_back(text);
    return static_cast<int32_t>(data_.names.size()) - 1;
  }
  std::vector<Phase> Phases() {
    data_.tracks = tracks_;
    data_.slices = slices_;
    data_.counters = counters_;
    data_.steps = steps_;
    return PhasesOf(data_);
  }

  recipes::TraceData data_;
  std::vector<store::TrackRow> tracks_ = {
      {.track_id = 0, .name = Text("thread"), .thread_id = 0},
      {.track_id = 1, .name = Text("stream"), .device_id = 0, .stream_id = 7},
      {.track_id = 2, .name = Text("prefill requests")},
      {.track_id = 3, .name = Text("decode requests")}};
  std::vector<store::SliceRow> slices_;
  std::vector<store::CounterRow> counters_;
  std::vector<store::StepRow> steps_;
};

TEST_F(PhasesTest, ByTheServersOwnAnnotations) {
  Slice("execute_context_2(90)_generation_0(0)", 0, 10);
  Slice("execute_context_0(0)_generation_3(3)", 20, 10);
  Slice("execute_context_2(90)_generation_0(0)", 22, 10, false);  // of the device, which is late
  Slice("execute_context_1(9)_generation_3(3)", 40, 10);
  Slice("execute_context_0(0)_generation_0(0)", 60, 10);
  Slice("execute_model", 80, 10);
  const auto phases = Phases();
  ASSERT_EQ(phases.size(), 3U);
  EXPECT_EQ(phases[0].name, "prefill");
  EXPECT_EQ(phases[1].name, "decode");
  EXPECT_EQ(phases[2].name, "mixed");
  const std::vector<LaunchingOp> ops = {Op("mm", 5, 1), Op("mm", 25, 1), Op("mm", 45, 1),
                                        Op("mm", 65, 1)};
  std::vector<PlacedOp> placed;
  for (size_t i = 0; i < ops.size(); ++i) {
    placed.push_back({.parent = "", .module = "Net", .op = i});
  }
  placed[1].parent = "Model";
  AssignPhases(phases, ops, placed);
  EXPECT_EQ(placed[0].parent, "prefill");
  EXPECT_EQ(placed[1].parent, "decode/Model");
  EXPECT_EQ(placed[2].parent, "mixed");
  EXPECT_EQ(placed[3].parent, "");
}

TEST_F(PhasesTest, ByTheCountersOfSteps) {
  steps_ = {{.step_id = 1, .ts = 0, .dur = 10},
            {.step_id = 2, .ts = 20, .dur = 10},
            {.step_id = 3, .ts = 40, .dur = 10},
            {.step_id = 4, .ts = 60, .dur = 10}};
  for (const auto& [ts, prompts, others] :
       {std::tuple(1, 2, 0), std::tuple(21, 0, 3), std::tuple(41, 1, 1), std::tuple(61, 0, 0)}) {
    Count(2, ts, prompts);
    Count(3, ts, others);
  }
  const auto phases = Phases();
  ASSERT_EQ(phases.size(), 3U);
  EXPECT_EQ(phases[0].name, "prefill");
  EXPECT_EQ(phases[1].name, "decode");
  EXPECT_EQ(phases[1].begin, 20);
  EXPECT_EQ(phases[2].name, "mixed");
}

TEST_F(PhasesTest, OfATrainingThereAreNone) {
  steps_ = {{.step_id = 1, .ts = 0, .dur = 10}};
  Slice("ProfilerStep#1", 0, 10);
  EXPECT_TRUE(Phases().empty());
}

TEST(MergeCalls, NeighboursThatRunOtherOperatorsStaySeparate) {
  const std::vector<ModuleRange> modules = {Module("Block", 10, 20), Module("Block", 30, 40),
                                            Module("Head", 50, 60), Module("Block", 70, 80)};
  const std::vector<LaunchingOp> ops = {Op("mm", 11, 5), Op("mm", 31, 5), Op("add", 33, 2),
                                        Op("mm", 51, 1), Op("silu", 71, 1)};
  const auto rows = MergeCalls(PlaceOps(modules, ops), ops);
  ASSERT_EQ(rows.size(), 5U);
  EXPECT_EQ(rows[0].module, "Block_0");
  EXPECT_EQ(rows[1].module, "Block_1");
  EXPECT_EQ(rows[2].module, "Block_1");
  EXPECT_EQ(rows[3].module, "Head");
  EXPECT_EQ(rows[4].module, "Block");  // it has no neighbour of its kind
}

}  // namespace
}  // namespace sonde::cluster
