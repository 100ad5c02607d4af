#include "importers/common/impossible_times.h"

#include <gtest/gtest.h>

namespace sonde::importers {
namespace {

constexpr int64_t kDayNs = kApartNs;
constexpr int64_t kToday = 1'615'207'264'505'000'000;

TEST(ImpossibleTimes, ZerosAndFewDistantTimes) {
  std::vector<int64_t> begins(100, 0);
  for (int64_t i = 0; i < 100; ++i) begins.push_back(kToday + i);
  begins.push_back(kToday + 30 * kDayNs);
  const TimeWindow window = WindowOf(begins);
  EXPECT_EQ(window.first, kToday);
  EXPECT_EQ(window.last, kToday + 99);
  EXPECT_FALSE(window.Holds(0));
}

TEST(ImpossibleTimes, TwoRunsAndLongTracesAreWhole) {
  std::vector<int64_t> runs;
  for (int64_t i = 0; i < 10; ++i) {
    runs.push_back(kToday + i);
    runs.push_back(kToday + 300 * kDayNs + i);
  }
  EXPECT_EQ(WindowOf(runs).first, kToday);
  EXPECT_EQ(WindowOf(runs).last, kToday + 300 * kDayNs + 9);
  std::vector<int64_t> weeks;
  for (int64_t i = 0; i < 100; ++i) weeks.push_back(i * kDayNs / 4);
  EXPECT_TRUE(WindowOf(weeks).Holds(0));
  EXPECT_TRUE(WindowOf({}).Holds(5));
  EXPECT_TRUE(WindowOf({0, 0}).Holds(0));
}

struct RangeAt {
  int64_t begin;
  int64_t end;
};

std::vector<size_t> Overruns(const std::vector<RangeAt>& ranges, int64_t limit) {
  std::vector<size_t> found;
  ForEachOverrun(
      ranges.size(), limit, [&](size_t i) { return ranges[i].begin; },
      [&](size_t i) { return ranges[i].end; }, [&](size_t i) { found.push_back(i); });
  return found;
}

TEST(ImpossibleTimes, ATaskOverLaterOnesOfItsStream) {
  EXPECT_EQ(Overruns({{0, 31}, {10, 20}, {20, 30}, {30, 40}, {40, 50}}, 1000),
            std::vector<size_t>{0});
  // Two that overlap a little are usual; so is the last one, however long.
  EXPECT_TRUE(Overruns({{0, 25}, {10, 20}, {20, 30}, {30, 4000}}, 1000).empty());
  EXPECT_EQ(Overruns({{0, 2000}, {10, 20}}, 1000), std::vector<size_t>{0});
}

}  // namespace
}  // namespace sonde::importers
