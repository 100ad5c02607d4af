#include "recipes/slow_rank/excess.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "recipes/slow_rank/cause.h"
#include "recipes/slow_rank/others.h"

namespace sonde::recipes::slow_rank {
namespace {

using Values = std::vector<std::vector<double>>;

// Eight ranks over some steps that differ by a few thousandths.
Values Even(size_t steps) {
  Values values;
  for (size_t rank = 0; rank < 8; ++rank) {
    std::vector<double>& row = values.emplace_back();
    for (size_t step = 0; step < steps; ++step) {
      row.push_back(1000 + static_cast<double>((rank * 5 + step * 3) % 7));
    }
  }
  return values;
}

TEST(MedianWithout, IsTheMedianOfTheOthers) {
  for (size_t count = 2; count < 12; ++count) {
    std::vector<double> values;
    for (size_t i = 0; i < count; ++i) values.push_back(static_cast<double>(i * i * 7 % 5) / 3);
    std::vector<double> sorted = values;
    std::ranges::sort(sorted);
    for (size_t without = 0; without < count; ++without) {
      std::vector<double> others = values;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(without));
      EXPECT_EQ(MedianWithout(sorted, values[without]), MedianOf(others)) << count << without;
    }
  }
}

TEST(FindExcesses, IgnoresRanksThatDifferAnyway) {
  EXPECT_TRUE(FindExcesses(Even(6)).empty());
  EXPECT_TRUE(FindExcesses({{1000, 1010}}).empty());
  EXPECT_TRUE(FindExcesses({{}, {}}).empty());
  // A spread of 4 % hides a rank that is 6 % slower.
  Values wide;
  for (const double value : {960.0, 1000.0, 1040.0, 980.0, 1020.0, 1060.0}) wide.push_back({value});
  EXPECT_TRUE(FindExcesses(wide).empty());
}

TEST(FindExcesses, FindsARankThatIsAlwaysSlow) {
  Values values = Even(4);
  for (double& value : values[5]) value *= 1.04;
  const auto found = FindExcesses(values);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].place, 5U);
  EXPECT_TRUE(found[0].is_steady);
  EXPECT_EQ(found[0].steps, (std::vector<size_t>{0, 1, 2, 3}));
  EXPECT_NEAR(found[0].share, 0.04, 0.005);
  EXPECT_NEAR(found[0].value, 40, 5);
}

TEST(FindExcesses, FindsSinceWhen) {
  Values values = Even(6);
  for (size_t step = 2; step < 6; ++step) values[1][step] *= 1.05;
  const auto found = FindExcesses(values);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(found[0].is_steady);
  EXPECT_EQ(found[0].steps, (std::vector<size_t>{2, 3, 4, 5}));
}

TEST(FindExcesses, IsANumberWhereTheLastStepWasCutOff) {
  Values values = Even(6);
  for (double& value : values[5]) value *= 1.4;
  values[5].back() = 0;
  const auto found = FindExcesses(values);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].place, 5U);
  EXPECT_GT(found[0].value, 0);
  EXPECT_LT(found[0].value, 500);
}

TEST(FindExcesses, FindsARankThatIsSlowAtTimes) {
  Values values = Even(8);
  for (const size_t step : {1U, 3U, 5U}) values[2][step] *= 1.1;
  auto found = FindExcesses(values);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_FALSE(found[0].is_steady);
  EXPECT_EQ(found[0].steps, (std::vector<size_t>{1, 3, 5}));
  // Once is a chance, unless it is half a step.
  values = Even(8);
  values[2][3] *= 1.1;
  EXPECT_TRUE(FindExcesses(values).empty());
  values[2][3] *= 1.5;
  found = FindExcesses(values);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].steps, (std::vector<size_t>{3}));
}

TEST(FindExcesses, FindsTheSlowerOfTwo) {
  const auto found = FindExcesses({{1000, 1002}, {1060, 1061}});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].place, 1U);
}

// With two ranks only their steps show how much healthy ranks differ.
TEST(FindExcesses, DoesNotAccuseBothOfTwoThatVary) {
  const std::vector<double> noise = {0.9,  1.1,  0.85, 1.2,  1.0, 0.95, 1.15, 0.8,
                                     1.05, 0.97, 1.12, 0.88, 1.0, 1.18, 0.92, 1.03};
  Values values(2);
  for (size_t step = 0; step < noise.size(); ++step) {
    values[0].push_back(1000 * noise[step]);
    values[1].push_back(1000 * noise[(step + 5) % noise.size()]);
  }
  EXPECT_TRUE(FindExcesses(values).empty());
  for (double& value : values[1]) value *= 1.4;
  values[1][4] *= 0.5;
  const auto found = FindExcesses(values);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].place, 1U);
  EXPECT_TRUE(found[0].is_steady);
  EXPECT_EQ(found[0].steps.size(), noise.size());
  EXPECT_EQ(found[0].slower_count, noise.size() - 1);
}

TEST(FindExcesses, FindsWhenOneOfTwoWasSlow) {
  Values values(2);
  for (size_t step = 0; step < 10; ++step) {
    values[0].push_back(1000 + static_cast<double>(step * 3 % 7));
    values[1].push_back(1000 + static_cast<double>(step * 5 % 7));
  }
  Values since = values;
  for (size_t step = 5; step < 10; ++step) since[1][step] *= 1.05;
  auto found = FindExcesses(since);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].steps, (std::vector<size_t>{5, 6, 7, 8, 9}));
  Values at_times = values;
  for (const size_t step : {1U, 4U, 8U}) at_times[0][step] *= 1.1;
  found = FindExcesses(at_times);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].place, 0U);
  EXPECT_EQ(found[0].steps, (std::vector<size_t>{1, 4, 8}));
}

TEST(ActivityOf, KnowsWhatStopsAHost) {
  EXPECT_EQ(ActivityOf("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"),
            HostActivity::kDataLoading);
  EXPECT_EQ(ActivityOf("GC"), HostActivity::kGarbageCollection);
  EXPECT_EQ(ActivityOf("<built-in method acquire of _thread.lock object at 0x7f>"),
            HostActivity::kLock);
  EXPECT_EQ(ActivityOf("torch/_dynamo/convert_frame.py(900): _compile"),
            HostActivity::kCompilation);
  EXPECT_EQ(ActivityOf("aclrtMalloc"), HostActivity::kMemory);
  EXPECT_EQ(ActivityOf("aten::block_diag"), HostActivity::kOther);
}

}  // namespace
}  // namespace sonde::recipes::slow_rank
