#include "compare/verdict/spread.h"

#include <gtest/gtest.h>

#include <array>

namespace sonde::compare {
namespace {

// From tables of Student's distribution, both sides.
TEST(SpreadTest, LimitsOfStudent) {
  EXPECT_NEAR(StudentLimit(0.01, 1), 63.657, 1e-3);
  EXPECT_NEAR(StudentLimit(0.01, 6), 3.7074, 1e-4);
  EXPECT_NEAR(StudentLimit(0.05, 10), 2.2281, 1e-4);
  EXPECT_NEAR(StudentLimit(0.01, 120), 2.6174, 1e-4);
  EXPECT_NEAR(StudentLimit(0.0001, 20), 4.8370, 1e-2);
  EXPECT_NEAR(StudentTail(StudentLimit(1e-6, 12), 12), 1e-6, 1e-9);
  EXPECT_EQ(StudentTail(0, 5), 1);
}

TEST(SpreadTest, GapsNeedTwoValuesOnEachSide) {
  const std::array one = {1.0};
  const std::array two = {1.0, 2.0};
  EXPECT_FALSE(GapOf(SpreadOf(one), SpreadOf(two), 0.01).is_known);
  EXPECT_FALSE(GapOf(SpreadOf(one), SpreadOf(two), 0.01).LeavesOutZero());
}

TEST(SpreadTest, ConstantSamplesLeaveNoDoubt) {
  const std::array four = {4.0, 4.0, 4.0};
  const std::array five = {5.0, 5.0, 5.0};
  EXPECT_TRUE(GapOf(SpreadOf(four), SpreadOf(five), 1e-6).LeavesOutZero());
  EXPECT_FALSE(GapOf(SpreadOf(four), SpreadOf(four), 1e-6).LeavesOutZero());
}

}  // namespace
}  // namespace sonde::compare
