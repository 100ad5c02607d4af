#include <gtest/gtest.h>

#include "cluster/modules/merged_calls.h"

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

TEST(MergeCalls, NeighboursThatRunOtherOperatorsAreToldApart) {
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
