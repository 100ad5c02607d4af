#include "recipes/trace/counted_steps.h"

#include <gtest/gtest.h>

namespace sonde::recipes {
namespace {

std::vector<bool> Counted(const std::vector<int64_t>& lengths, bool last_is_open = false) {
  std::vector<StepLength> steps;
  for (const int64_t length : lengths) steps.push_back({length, false});
  if (!steps.empty()) steps.back().is_unfinished = last_is_open;
  return CountSteps(steps).counts;
}

using Counts = std::vector<bool>;

TEST(CountSteps, TakesAllThatAreAlike) {
  EXPECT_EQ(Counted({}), Counts());
  EXPECT_EQ(Counted({100}), Counts({true}));
  EXPECT_EQ(Counted({100, 140, 90, 100}), Counts({true, true, true, true}));
  // A long step in the middle is a slow step, and not a warm-up.
  EXPECT_EQ(Counted({100, 100, 400, 100}), Counts({true, true, true, true}));
  // Of three nobody knows whether the first is one.
  EXPECT_EQ(Counted({400, 100, 100}), Counts({true, true, true}));
  // Nor, of two, whether one is a warm-up or the other a fragment.
  EXPECT_EQ(Counted({400, 1}), Counts({true, true}));
}

TEST(CountSteps, LeavesOutWarmUpFragmentsAndTheUnfinishedOne) {
  EXPECT_EQ(Counted({400, 100, 100, 100}), Counts({false, true, true, true}));
  EXPECT_EQ(Counted({400, 400, 100, 100, 100}), Counts({false, true, true, true, true}));
  EXPECT_EQ(Counted({5, 100, 110, 9}), Counts({false, true, true, false}));
  EXPECT_EQ(Counted({100, 110, 60}, /*last_is_open=*/true), Counts({true, true, false}));
  EXPECT_EQ(Counted({100}, /*last_is_open=*/true), Counts({true}));
  const CountedSteps counted =
      CountSteps(std::vector<StepLength>{{400}, {100}, {3}, {100}, {100}, {50, true}});
  EXPECT_EQ(counted.warm_up, 1);
  EXPECT_EQ(counted.fragments, 1);
  EXPECT_EQ(counted.unfinished, 1);
}

}  // namespace
}  // namespace sonde::recipes
