#include "importers/trace_events/event_blocks.h"

#include <gtest/gtest.h>

#include <vector>

namespace sonde::importers::trace_events {
namespace {

struct Item {
  int64_t number;
  int32_t more;
};

std::vector<int64_t> Numbers(const Blocks<Item>& items) {
  std::vector<int64_t> numbers;
  items.ForEach([&](uint32_t, const Item& item) { numbers.push_back(item.number); });
  return numbers;
}

TEST(EventBlocksTest, ListsJoinInOrderAndPlacesStayTheirs) {
  base::SpillPool pool({});
  BlockArena arena(&pool);
  Blocks<Item> all(&arena);
  std::vector<int64_t> expected;
  // Lists that end in the middle of a block, at its end, and behind it; one is empty.
  for (const uint32_t count : {3U, Blocks<Item>::kRows, 0U, Blocks<Item>::kRows + 1}) {
    Blocks<Item> part(&arena);
    for (uint32_t i = 0; i < count; ++i) {
      expected.push_back(static_cast<int64_t>(expected.size()));
      part.Append({expected.back(), 0});
    }
    all.Append(std::move(part));
  }
  EXPECT_EQ(all.size(), expected.size());
  EXPECT_EQ(Numbers(all), expected);
  uint32_t last = 0;
  all.ForEach([&](uint32_t place, Item& item) {
    EXPECT_TRUE(item.number == 0 || place > last);
    EXPECT_LT(place, all.places());
    EXPECT_EQ(&all[place], &item);
    last = place;
  });
  all.Append({-1, 0});  // behind a list that joined
  EXPECT_EQ(all[all.places() - 1].number, -1);
  EXPECT_EQ(all.size(), expected.size() + 1);
}

TEST(EventBlocksTest, GroupsOfWordsAreContiguous) {
  base::SpillPool pool({});
  BlockArena arena(&pool);
  WordBlocks words(&arena);
  constexpr uint32_t kGroup = 7;  // does not divide a block
  constexpr uint32_t kGroups = 5000;
  std::vector<int32_t> places;
  for (uint32_t i = 0; i < kGroups; ++i) {
    const auto [place, group] = words.Add(kGroup);
    for (uint32_t k = 0; k < kGroup; ++k) group[k] = i * kGroup + k;
    places.push_back(place);
  }
  for (uint32_t i = 0; i < kGroups; ++i) {
    for (uint32_t k = 0; k < kGroup; ++k) EXPECT_EQ(words.At(places[i])[k], i * kGroup + k);
  }
}

}  // namespace
}  // namespace sonde::importers::trace_events
