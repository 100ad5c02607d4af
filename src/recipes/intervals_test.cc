#include "recipes/intervals.h"

#include <gtest/gtest.h>

#include <random>

namespace sonde::recipes {
namespace {

using Intervals = std::vector<Interval>;

TEST(Intervals, MergeSortsJoinsAndDropsEmpty) {
  EXPECT_EQ(Merge({{5, 7}, {1, 3}, {3, 4}, {9, 9}, {6, 8}}), (Intervals{{1, 4}, {5, 8}}));
  EXPECT_TRUE(Merge({}).empty());
}

TEST(Intervals, Subtract) {
  const Intervals whole{{0, 10}, {20, 30}};
  EXPECT_EQ(Subtract(whole, Intervals{{2, 4}, {8, 22}, {29, 40}}),
            (Intervals{{0, 2}, {4, 8}, {22, 29}}));
  EXPECT_EQ(Subtract(whole, {}), whole);
  EXPECT_TRUE(Subtract(whole, Intervals{{-1, 31}}).empty());
}

// Against membership of every single nanosecond.
TEST(Intervals, AgreeWithBitmapsOnRandomSets) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<bool> in_a(200);
    std::vector<bool> in_b(200);
    const auto fill = [&](std::vector<bool>& bits) {
      Intervals intervals;
      const int count = static_cast<int>(random() % 12U);
      for (int i = 0; i < count; ++i) {
        const auto start = static_cast<int64_t>(random() % 180U);
        const auto end = start + static_cast<int64_t>(random() % 20U);
        intervals.push_back({start, end});
        for (int64_t t = start; t < end; ++t) bits[static_cast<size_t>(t)] = true;
      }
      return Merge(std::move(intervals));
    };
    const Intervals a = fill(in_a);
    const Intervals b = fill(in_b);
    const auto length = [&](auto keep) {
      int64_t total = 0;
      for (size_t t = 0; t < in_a.size(); ++t) total += keep(in_a[t], in_b[t]) ? 1 : 0;
      return total;
    };
    EXPECT_EQ(TotalNs(a), length([](bool x, bool) { return x; }));
    EXPECT_EQ(TotalNs(Unite(a, b)), length([](bool x, bool y) { return x || y; }));
    EXPECT_EQ(TotalNs(Subtract(a, b)), length([](bool x, bool y) { return x && !y; }));
    EXPECT_EQ(Unite(a, b), Unite(b, a));
  }
}

}  // namespace
}  // namespace sonde::recipes
