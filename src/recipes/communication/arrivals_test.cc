// Who waited for whom in collectives, with the truth planted.
#include "recipes/communication/arrivals.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "recipes/communication/host_clocks.h"

namespace sonde::recipes {
namespace {

constexpr uint64_t kGroup = 7;
constexpr uint64_t kAllReduce = 1;
constexpr uint64_t kAllGather = 2;

// Collectives of one rank: begins and ends, all of one group of two.
class Rank {
 public:
  explicit Rank(int64_t rank, int64_t run = 0) {
    arrivals_.rank = rank;
    arrivals_.run = run;
  }
  Rank& Call(int64_t ts, int64_t end_ns, uint64_t call = kAllReduce, uint64_t group = kGroup,
             int64_t rank_size = 2) {
    arrivals_.collectives.push_back({.group = group,
                                     .call = call,
                                     .ts = ts,
                                     .end_ns = end_ns,
                                     .rank_size = rank_size,
                                     .index = static_cast<uint32_t>(arrivals_.operation_count)});
    ++arrivals_.operation_count;
    return *this;
  }
  operator RankArrivals() const { return arrivals_; }  // NOLINT(google-explicit-constructor)

 private:
  RankArrivals arrivals_;
};

using Waits = std::vector<int64_t>;

TEST(Arrivals, WhoComesFirstWaitsForTheLast) {
  const std::vector<RankArrivals> ranks = {Rank(0).Call(100, 200).Call(300, 420),
                                           Rank(1).Call(160, 201).Call(310, 419)};
  const auto waits = WaitsOf(ranks);
  EXPECT_EQ(waits[0].waits_ns, (Waits{60, 10}));
  EXPECT_EQ(waits[1].waits_ns, (Waits{0, 0}));
  EXPECT_EQ(waits[0].wait_ns, 70);
  EXPECT_EQ(waits[0].elapse_ns, 220);
  EXPECT_EQ(waits[0].matched, 2);
  EXPECT_EQ(waits[0].unmatched + waits[0].alone, 0);
}

// Three collectives of two ranks, the second one 250 ms ahead by its clock and 5 ms late to each.
std::vector<RankArrivals> OfTwoHosts(const std::string& first, const std::string& second) {
  constexpr int64_t kMs = 1'000'000;
  Rank early(0);
  Rank late(1);
  for (int64_t i = 0; i < 4; ++i) {
    early.Call(i * 100 * kMs, (i * 100 + 20) * kMs);
    late.Call((i * 100 + 255) * kMs, (i * 100 + 270) * kMs);
  }
  std::vector<RankArrivals> ranks = {early, late};
  ranks[0].host = first;
  ranks[1].host = second;
  return ranks;
}

TEST(Arrivals, ClocksThatDisagreeAreCorrectedAndReported) {
  constexpr int64_t kMs = 1'000'000;
  std::vector<RankArrivals> ranks = OfTwoHosts("node0", "node1");
  EXPECT_NE(WaitsOf(ranks)[0].wait_ns, 20 * kMs);  // as they are
  EXPECT_EQ(CorrectClocks(ranks),
            (std::vector<std::string>{
                "the clock of node1 (rank 1) is 250.00 ms ahead of that of node0: waits for ranks "
                "are computed without that"}));
  const auto waits = WaitsOf(ranks);
  EXPECT_EQ(waits[0].waits_ns, (Waits{5 * kMs, 5 * kMs, 5 * kMs, 5 * kMs}));
  EXPECT_EQ(waits[1].waits_ns, (Waits{0, 0, 0, 0}));
  EXPECT_TRUE(CorrectClocks(ranks).empty());  // they agree now
}

TEST(Arrivals, WhoseClockIsRightDoesNotDependOnTheOrder) {
  std::vector<RankArrivals> ranks = OfTwoHosts("node0", "node1");
  std::swap(ranks[0], ranks[1]);
  EXPECT_EQ(CorrectClocks(ranks),
            (std::vector<std::string>{
                "the clock of node1 (rank 1) is 250.00 ms ahead of that of node0: waits for ranks "
                "are computed without that"}));
  EXPECT_EQ(ranks[1].collectives.front().ts, 0);
}

TEST(Arrivals, RanksOfOneHostHaveOneClock) {
  std::vector<RankArrivals> ranks = OfTwoHosts("node0", "node0");
  EXPECT_TRUE(CorrectClocks(ranks).empty());
  EXPECT_EQ(ranks[1].collectives.front().ts, 255'000'000);
}

TEST(Arrivals, RunsAreCorrectedByThemselves) {
  std::vector<RankArrivals> ranks = OfTwoHosts("node0", "node1");
  ranks[1].run = 1;  // another job: nothing is in common
  EXPECT_TRUE(CorrectClocks(ranks).empty());
}

TEST(Arrivals, MissingCollectivesOfOneRankDoNotShiftTheOthers) {
  // Of rank 1 the first two were not recorded, and one in the middle was lost.
  const std::vector<RankArrivals> ranks = {
      Rank(0).Call(0, 10).Call(20, 30).Call(40, 60).Call(70, 80).Call(90, 100),
      Rank(1).Call(55, 61).Call(91, 101)};
  const auto waits = WaitsOf(ranks);
  EXPECT_EQ(waits[0].waits_ns, (Waits{-1, -1, 15, -1, 1}));
  EXPECT_EQ(waits[1].waits_ns, (Waits{0, 0}));
  EXPECT_EQ(waits[0].unmatched, 3);
  EXPECT_EQ(waits[1].unmatched, 0);
}

TEST(Arrivals, DifferentCallsAreNeverOne) {
  const std::vector<RankArrivals> ranks = {Rank(0).Call(0, 50, kAllGather).Call(10, 60, kAllReduce),
                                           Rank(1).Call(20, 60, kAllReduce)};
  const auto waits = WaitsOf(ranks);
  EXPECT_EQ(waits[0].waits_ns, (Waits{-1, 10}));
  EXPECT_EQ(waits[0].unmatched, 1);
}

TEST(Arrivals, OneRankAloneHasNoWaits) {
  const std::vector<RankArrivals> ranks = {Rank(0).Call(0, 10)};
  const auto waits = WaitsOf(ranks);
  EXPECT_TRUE(waits[0].waits_ns.empty());
  EXPECT_EQ(waits[0].alone, 1);
}

// NCCL's older traces do not have the members of a group: it is whole where the whole run is in it.
TEST(Arrivals, AGroupOfUnknownSizeIsThatOfTheRun) {
  std::vector<RankArrivals> ranks = {Rank(0).Call(0, 50, kAllReduce, kGroup, -1),
                                     Rank(1).Call(40, 51, kAllReduce, kGroup, -1)};
  EXPECT_EQ(WaitsOf(ranks)[0].alone, 1);
  for (RankArrivals& rank : ranks) rank.world = 2;
  EXPECT_EQ(WaitsOf(ranks)[0].waits_ns, (Waits{40}));
  for (RankArrivals& rank : ranks) rank.world = 3;
  EXPECT_EQ(WaitsOf(ranks)[0].alone, 1);
}

TEST(Arrivals, RunsAndUnknownRanksAreNotMixed) {
  const std::vector<RankArrivals> other_run = {Rank(0).Call(0, 10), Rank(1, 1).Call(5, 10)};
  EXPECT_EQ(WaitsOf(other_run)[0].alone, 1);
  const std::vector<RankArrivals> same_rank = {Rank(0).Call(0, 10), Rank(0).Call(5, 10)};
  EXPECT_EQ(WaitsOf(same_rank)[0].alone, 1);
  const std::vector<RankArrivals> no_rank = {Rank(-1).Call(0, 10), Rank(1).Call(5, 10)};
  EXPECT_EQ(WaitsOf(no_rank)[1].alone, 1);
}

TEST(Arrivals, GroupsGoTheirOwnWay) {
  const std::vector<RankArrivals> ranks = {
      Rank(0).Call(0, 50).Call(10, 60, kAllReduce, 8, 2),
      Rank(1).Call(40, 51),
      Rank(2).Call(12, 61, kAllReduce, 8, 2),
  };
  const auto waits = WaitsOf(ranks);
  EXPECT_EQ(waits[0].waits_ns, (Waits{40, 2}));
  EXPECT_EQ(waits[1].waits_ns, (Waits{0}));
  EXPECT_EQ(waits[2].waits_ns, (Waits{0}));
}

TEST(Arrivals, OverlappingWorksAreMatchedByTheirOrder) {
  const std::vector<RankArrivals> ranks = {Rank(0).Call(0, 100).Call(1, 120),
                                           Rank(1).Call(50, 101).Call(60, 121)};
  const auto waits = WaitsOf(ranks);
  EXPECT_EQ(waits[0].waits_ns, (Waits{50, 59}));
}

}  // namespace
}  // namespace sonde::recipes
