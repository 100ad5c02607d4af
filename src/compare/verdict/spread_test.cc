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

// Shares of all choices, counted one by one.
TEST(SpreadTest, RanksAreExactWithTiesToo) {
  const std::array low = {1.0, 2.0, 3.0};
  const std::array high = {4.0, 5.0, 6.0};
  EXPECT_NEAR(RankTail(low, high), 2.0 / 20, 1e-12);
  EXPECT_NEAR(RankTail(high, low), LeastRankTail(3, 3), 1e-12);
  const std::array tied = {1.0, 2.0, 2.0, 5.0};
  const std::array others = {2.0, 3.0, 6.0, 7.0, 8.0};
  EXPECT_NEAR(RankTail(tied, others), 14.0 / 126, 1e-12);
  EXPECT_EQ(RankTail(low, low), 1);
  const std::array same = {1.0, 1.0, 1.0};
  EXPECT_EQ(RankTail(same, same), 1);
}

// One sample far off does not widen the interval by ranks.
TEST(SpreadTest, IntervalsByRanks) {
  const std::array base = {1.0, 2.0, 3.0, 4.0, 5.0};
  const std::array comparison = {11.0, 12.0, 13.0, 14.0, 1000.0};
  const Gap gap = RankGapOf(base, comparison, 0.01);
  ASSERT_TRUE(gap.is_known);
  EXPECT_EQ(gap.diff, 10);
  EXPECT_EQ(gap.low, 6);
  EXPECT_EQ(gap.high, 999);
  EXPECT_FALSE(RankGapOf(base, comparison, 0.001).is_known)
      << "5 and 5 leave out 2 of 252 at least";
}

}  // namespace
}  // namespace sonde::compare
