#include "recipes/step_trace/rank_device.h"

#include <gtest/gtest.h>

#include <vector>

namespace sonde::recipes {
namespace {

struct Times {
  int step = 0;
  int busy = 0;
};

TEST(RankDeviceTest, InEachStepTheBusiestAndOfEqualsTheFirst) {
  const std::vector<Times> rows = {{0, 5}, {1, 2}, {2, 4}, {0, 3}, {1, 9}, {2, 4}, {3, 0}};
  const auto chosen = OfRankDevice(
      rows, [](const Times& row) { return row.step; }, [](const Times& row) { return row.busy; });
  EXPECT_EQ(chosen, (std::vector<bool>{true, false, true, false, true, false, true}));
  EXPECT_TRUE(OfRankDevice(
                  std::vector<Times>(), [](const Times& row) { return row.step; },
                  [](const Times& row) { return row.busy; })
                  .empty());
}

}  // namespace
}  // namespace sonde::recipes
