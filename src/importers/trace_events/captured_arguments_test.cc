#include "importers/trace_events/captured_arguments.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <vector>

namespace sonde::importers::trace_events {
namespace {

using Values = std::array<int64_t, kMaxCapturedKeys>;

TEST(CapturedArgumentsTest, EverySetComesBackAsItWas) {
  // At the limits of a word and of the type.
  constexpr std::array<int64_t, 9> kValues = {
      0, 1, UINT32_MAX, int64_t{UINT32_MAX} + 1, -1, INT32_MIN, INT64_MAX, INT64_MIN, 7};
  std::mt19937 random(5);
  base::SpillPool pool({});
  BlockArena arena(&pool);
  CapturedArguments captured(&arena);
  struct Set {
    uint32_t mask;
    Values values;
    int32_t index;
  };
  std::vector<Set> sets(20000);  // some blocks
  constexpr uint32_t kAll = (1U << kMaxCapturedKeys) - 1;
  for (Set& set : sets) {
    set.mask = static_cast<uint32_t>(random()) & (random() % 8 == 0 ? kAll : 0x0102'0411U);
    const size_t kinds = random() % 2 == 0 ? 3 : kValues.size();  // those of a word alone, or all
    for (int64_t& value : set.values) value = kValues[random() % kinds];
    set.index = captured.Add(set.mask, set.values);
  }
  for (const Set& set : sets) {
    const CapturedSet found = captured.At(set.index);
    for (size_t key = 0; key < kMaxCapturedKeys; ++key) {
      const bool has = (set.mask >> key & 1U) != 0;
      ASSERT_EQ(found.Get(key), has ? std::optional(set.values[key]) : std::nullopt) << key;
    }
  }
}

TEST(CapturedArgumentsTest, WithoutASetThereIsNothing) {
  base::SpillPool pool({});
  BlockArena arena(&pool);
  const CapturedArguments captured(&arena);
  EXPECT_EQ(captured.At(-1).Get(0), std::nullopt);
  EXPECT_EQ(CapturedSet().Get(kMaxCapturedKeys - 1), std::nullopt);
}

}  // namespace
}  // namespace sonde::importers::trace_events
