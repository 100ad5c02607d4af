#include "cluster/cluster_compare_baseline/lower_bound.h"

#include <gtest/gtest.h>

namespace sonde::cluster {
namespace {

TEST(LeastRatio, AGroupThatDidNotGrowTakesTheSameTime) {
  EXPECT_EQ(LeastRatio({"allGather", "BFP16", 1000}, 1e6, 64, 64), 1);
  EXPECT_EQ(LeastRatio({"allGather", "BFP16", 1000}, 1e6, 32, 64), 1);
  EXPECT_EQ(LeastRatio({"allGather", "BFP16", 1000}, 0, 128, 64), 1);
}

// 2^30 elements of 2 bytes over 20 GiB/s x 0.8 ... : 2^31 / (20 x 2^30) s = 0.1 s.
TEST(LeastRatio, TwiceTheRanksCostOneHopAndTheDataOnceMore) {
  constexpr double kBaseNs = 1e9;
  constexpr double kExtra = 0.1 + 60e-6;
  EXPECT_NEAR(LeastRatio({"allGather", "BFP16", 1 << 30}, kBaseNs, 128, 64), 1 + kExtra, 1e-9);
  EXPECT_NEAR(LeastRatio({"reduceScatter", "FP32", 1 << 29}, kBaseNs, 128, 64), 1 + kExtra, 1e-9);
  EXPECT_NEAR(LeastRatio({"allReduce", "BFP16", 1 << 30}, kBaseNs, 128, 64), 1 + 2 * kExtra, 1e-9);
}

TEST(LeastRatio, EachDoublingIsAHop) {
  EXPECT_NEAR(LeastRatio({"allGather", "BFP16", 0}, 60e3, 5, 1), 4, 1e-9);
  EXPECT_NEAR(LeastRatio({"allGather", "BFP16", 0}, 60e3, 3, 2), 2, 1e-9);
}

}  // namespace
}  // namespace sonde::cluster
