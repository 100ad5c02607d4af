#include "importers/trace_events/flow_pairs.h"

#include <gtest/gtest.h>

#include <random>
#include <string_view>
#include <tuple>
#include <vector>

namespace sonde::importers::trace_events {
namespace {

using Triple = std::tuple<int64_t, uint32_t, uint32_t>;

std::vector<Triple> Triples(const FlowPairs& pairs) {
  std::vector<Triple> triples;
  for (const FlowPairs::Flow& flow : pairs.flows())
    triples.emplace_back(flow.ts, flow.from, flow.to);
  return triples;
}

FlowEnd End(uint64_t key, int64_t ts, char phase) {
  FlowEnd end = {};
  end.key = key;
  end.ts = ts;
  end.phase = phase;
  return end;
}

TEST(FlowPairs, AnEndBelongsToTheLastThatLeftBeforeIt) {
  base::SpillPool pool({});
  BlockArena arena(&pool);
  Blocks<FlowEnd> list(&arena);
  list.Append(End(7, 30, 'f'));
  list.Append(End(7, 10, 's'));
  list.Append(End(7, 20, 's'));
  list.Append(End(8, 5, 'f'));  // before its begin: the clocks differ
  list.Append(End(8, 6, 's'));
  list.Append(End(9, 1, 'f'));   // nothing left
  list.Append(End(10, 1, 's'));  // nothing arrived
  const FlowPairs pairs(list, &pool);
  EXPECT_EQ(Triples(pairs), (std::vector<Triple>{{6, 4, 3}, {20, 2, 0}}));
  EXPECT_EQ(pairs.unpaired(), 2);
}

TEST(FlowPairs, CountsEndsThatLeaveAgainBeforeAnyArrived) {
  base::SpillPool pool({});
  BlockArena arena(&pool);
  const auto counts = [&](std::string_view phases) {
    Blocks<FlowEnd> list(&arena);
    for (size_t i = 0; i < phases.size(); ++i) {
      list.Append(End(7, static_cast<int64_t>(i), phases[i]));
    }
    const FlowPairs pairs(list, &pool);
    return std::tuple(pairs.flows().size(), pairs.unpaired(), pairs.repeated());
  };
  using Counts = std::tuple<size_t, int64_t, int64_t>;
  EXPECT_EQ(counts("sf"), Counts(1, 0, 0));
  EXPECT_EQ(counts("stf"), Counts(2, 0, 0));
  EXPECT_EQ(counts("sff"), Counts(2, 0, 0));   // the kernels of a graph
  EXPECT_EQ(counts("sfsf"), Counts(2, 0, 0));  // an id that is used again
  EXPECT_EQ(counts("fs"), Counts(1, 0, 0));    // the clocks differ
  EXPECT_EQ(counts("ssf"), Counts(1, 0, 1));
  EXPECT_EQ(counts("sss"), Counts(0, 1, 2));
  EXPECT_EQ(counts("ssfs"), Counts(1, 1, 1));
  EXPECT_EQ(counts("ff"), Counts(0, 2, 0));
}

TEST(FlowPairs, PartsGiveTheSameAsTheWhole) {
  base::SpillPool pool({});
  BlockArena arena(&pool);
  Blocks<FlowEnd> list(&arena);
  std::mt19937_64 random(5);
  for (int i = 0; i < 20'000; ++i) {
    list.Append(
        End(random() % 4000, static_cast<int64_t>(random() % 100'000), "stf"[random() % 3]));
  }
  const FlowPairs whole(list, &pool);
  const FlowPairs parts(list, &pool, 100);
  EXPECT_GT(whole.flows().size(), 5000U);
  EXPECT_EQ(Triples(parts), Triples(whole));
  EXPECT_EQ(parts.unpaired(), whole.unpaired());
  EXPECT_EQ(parts.repeated(), whole.repeated());
}

}  // namespace
}  // namespace sonde::importers::trace_events
