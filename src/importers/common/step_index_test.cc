// Steps by moment, against a walk over all of them.
#include "importers/common/step_index.h"

#include <gtest/gtest.h>

#include <random>

#include "store/table_writer.h"

namespace sonde::importers {
namespace {

using Spans = std::vector<StepIndex::Span>;

store::StepRow Row(int64_t number, int64_t ts, int64_t dur) {
  store::StepRow row;
  row.step_id = number;
  row.ts = ts;
  row.dur = dur;
  return row;
}

TEST(StepIndex, AnEndBelongsToItsStep) {
  const StepIndex index =
      IndexOfSteps(std::vector{Row(5, 100, 50), Row(6, 150, 50), Row(7, 300, -1)});
  EXPECT_EQ(index.At(99), -1);
  EXPECT_EQ(index.At(100), 5);
  EXPECT_EQ(index.At(150), 5);
  EXPECT_EQ(index.At(151), 6);
  EXPECT_EQ(index.At(201), -1);
  EXPECT_EQ(index.At(300), -1);
  EXPECT_EQ(StepIndex(Spans()).At(1), -1);
  EXPECT_EQ(IndexOfSteps(std::vector{Row(1, INT64_MAX - 1, 5)}).At(INT64_MAX), -1);
}

TEST(StepIndex, AnyStepsAsAWalkOverAll) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    Spans spans;
    const auto count = static_cast<uint32_t>(random() % 12);
    for (uint32_t i = 0; i < count; ++i) {
      const auto begin = static_cast<int64_t>(random() % 60);
      spans.push_back({begin, begin + static_cast<int64_t>(random() % 30) - 2, i});
    }
    const StepIndex index(spans);
    for (int64_t ts = -1; ts < 100; ++ts) {
      std::vector<size_t> expected;
      for (size_t i = 0; i < spans.size(); ++i) {
        if (ts >= spans[i].begin && ts <= spans[i].end) expected.push_back(i);
      }
      std::vector<size_t> found;
      index.ForEach(ts, [&](size_t place) { found.push_back(place); });
      std::sort(found.begin(), found.end());
      EXPECT_EQ(found, expected) << ts;
      EXPECT_EQ(index.At(ts), expected.empty() ? -1 : static_cast<int64_t>(expected[0])) << ts;
    }
  }
}

}  // namespace
}  // namespace sonde::importers
