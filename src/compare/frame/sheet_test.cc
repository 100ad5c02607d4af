#include "compare/frame/sheet.h"

#include <gtest/gtest.h>

namespace sonde::compare {
namespace {

TEST(SheetTest, RoundsTheExactValue) {
  EXPECT_EQ(Round(2.675, 2), 2.67);  // the double lies below the text
  EXPECT_EQ(Round(0.125, 2), 0.12);  // a tie goes to the even digit
  EXPECT_EQ(Round(-1.005, 2), -1.0);
  EXPECT_EQ(Round(kInfinite, 2), kInfinite);
}

TEST(SheetTest, DifferencesAndRatios) {
  EXPECT_EQ(DifferenceOf(2, 3).diff, 1);
  EXPECT_EQ(DifferenceOf(2, 3).ratio, 1.5);
  EXPECT_EQ(DifferenceOf(0, 0).ratio, 1);
  EXPECT_EQ(DifferenceOf(0, 3).ratio, kInfinite);
  EXPECT_EQ(DifferenceOf(3, 0).ratio, 0);
}

TEST(SheetTest, NamesOfSides) {
  EXPECT_EQ(FullName({"Calls", "calls", Format::kPlain, 10, Of::kBase}), "base_calls");
  EXPECT_EQ(FullName({"Calls", "calls", Format::kPlain, 10, Of::kComparison}), "comparison_calls");
  EXPECT_EQ(FullName({"Diff Ratio", "diff_ratio", Format::kRatio, 10}), "diff_ratio");
}

}  // namespace
}  // namespace sonde::compare
