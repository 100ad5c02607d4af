#include "cluster/frame/statistics.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sonde::cluster {
namespace {

// As pandas' describe() has them.
TEST(Describe, HasQuartilesByInterpolationAndTheDeviationOfASample) {
  std::vector<double> values = {7, 1, 3, 10};
  const Statistics found = Describe(values);
  EXPECT_EQ(found.count, 4);
  EXPECT_DOUBLE_EQ(found.mean, 5.25);
  EXPECT_DOUBLE_EQ(found.deviation, 4.031128874149275);
  EXPECT_DOUBLE_EQ(found.q1, 2.5);
  EXPECT_DOUBLE_EQ(found.median, 5);
  EXPECT_DOUBLE_EQ(found.q3, 7.75);
  EXPECT_DOUBLE_EQ(found.max, 10);
  EXPECT_DOUBLE_EQ(found.sum, 21);
}

TEST(Describe, ASingleValueHasNoDeviation) {
  std::vector<double> values = {7};
  EXPECT_TRUE(std::isnan(Describe(values).deviation));
  EXPECT_DOUBLE_EQ(Describe(values).q3, 7);
}

TEST(Round, GoesToTheEvenOneOfTwo) {
  EXPECT_DOUBLE_EQ(Round(0.25, 1), 0.2);
  EXPECT_DOUBLE_EQ(Round(0.35, 1), 0.4);
  EXPECT_DOUBLE_EQ(Round(-2.5, 0), -2);
}

TEST(TextHeading, NanosecondsBecomeMicroseconds) {
  EXPECT_EQ(TextHeading({"MeanNs", ""}).heading, "Mean(Us)");
  EXPECT_EQ(TextHeading({"MeanNs", ""}).divisor, 1000);
  EXPECT_EQ(TextHeading({"stdev", ""}).divisor, 1);
  EXPECT_EQ(TextHeading({"rank", "Rank ID"}).heading, "Rank ID");
}

}  // namespace
}  // namespace sonde::cluster
