// Waits of ranks whose hosts' clocks disagree; files are looked at by
// test/e2e/test_waits.py.
#include "cli/analyse_waits.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace sonde::cli {
namespace {

constexpr int64_t kMs = 1'000'000;

// Four collectives, to which it begins so late, by the clock of its host.
AnalysedRank RankOf(int64_t number, const std::string& host, int64_t late_ns, int64_t ahead_ns) {
  AnalysedRank rank;
  rank.arrivals.rank = number;
  rank.arrivals.host = host;
  rank.arrivals.operation_count = 4;
  for (uint32_t i = 0; i < 4; ++i) {
    const int64_t begin = i * 100 * kMs + ahead_ns;
    rank.arrivals.collectives.push_back({.group = 1,
                                         .call = 1,
                                         .ts = begin + late_ns,
                                         .end_ns = begin + 20 * kMs,
                                         .rank_size = 2,
                                         .index = i});
  }
  return rank;
}

TEST(AnalyseWaits, ClocksAreCorrectedAndReported) {
  std::vector<AnalysedRank> ranks = {RankOf(0, "node0", 0, 0),
                                     RankOf(1, "node1", 5 * kMs, -250 * kMs)};
  const auto lines = FindWaits(ranks, 1, /*keeps_clocks=*/false);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines.front(),
            "the clock of node1 (rank 1) is 250.00 ms behind that of node0: waits for ranks are "
            "computed without that; --keep-clocks keeps the clocks");
  EXPECT_EQ(ranks[0].waits.wait_ns, 20 * kMs);
  EXPECT_EQ(ranks[1].waits.wait_ns, 0);
  const std::vector<std::string> names = {"rank 0", "rank 1"};
  EXPECT_NE(RenderWaits(ranks, names).find("rank 0 20.0 of 80.0 ms, rank 1 0.0 of 60.0 ms"),
            std::string::npos)
      << RenderWaits(ranks, names);
}

TEST(AnalyseWaits, ClocksMayBeKept) {
  std::vector<AnalysedRank> ranks = {RankOf(0, "node0", 0, 0),
                                     RankOf(1, "node1", 5 * kMs, -250 * kMs)};
  EXPECT_TRUE(FindWaits(ranks, 1, /*keeps_clocks=*/true).empty());
  EXPECT_NE(ranks[0].waits.wait_ns, 20 * kMs);
}

}  // namespace
}  // namespace sonde::cli
