// The mode shows what the rule of all commands found (recipes/slow_rank/slow_ranks_test.cc).
#include "cluster/slow_rank/reasons.h"

#include <gtest/gtest.h>

namespace sonde::cluster {
namespace {

using recipes::slow_rank::RankWork;
using recipes::slow_rank::WorkFacts;
using recipes::slow_rank::WorkStep;

// Ranks of one step; the others wait for what the second one computes longer.
std::vector<RankPart> RanksOf(int32_t count, int64_t longer_ns) {
  std::vector<RankPart> ranks;
  for (int32_t rank = 0; rank < count; ++rank) {
    RankWork work{.rank = rank};
    work.Rows<WorkFacts>().push_back({});
    for (int64_t step = 0; step < 3; ++step) {
      work.Rows<WorkStep>().push_back({.step = step,
                                       .compute_ns = 1'000'000 + (rank == 1 ? longer_ns : 0),
                                       .exposed_ns = rank == 1 ? 0 : longer_ns});
    }
    RankPart& part = ranks.emplace_back(RankPart{.rank = rank, .path = "", .part = {}});
    part.part.Rows<RankWork>().push_back(std::move(work));
  }
  return ranks;
}

TEST(Explain, BeginsWithTheAnswerAndShowsIt) {
  Outcome outcome;
  Explain(RanksOf(4, 50'000), outcome);
  ASSERT_EQ(outcome.tables.size(), 3U);
  EXPECT_EQ(&outcome.tables[0].info(), &kSlowCause);
  EXPECT_EQ(outcome.tables[0].rows(), 1U);
  EXPECT_EQ(outcome.tables[1].rows(), 12U);
  ASSERT_EQ(outcome.findings.size(), 1U);
  EXPECT_TRUE(NamesCause(outcome.findings[0]));
  EXPECT_EQ(outcome.findings[0].rank, 1);
  EXPECT_EQ(outcome.findings[0].evidence, "SELECT * FROM SlowRankCause WHERE rankId = 1");
}

TEST(Explain, SaysThatNobodyIsSlow) {
  Outcome outcome;
  Explain(RanksOf(4, 10'000), outcome);
  EXPECT_EQ(outcome.tables[0].rows(), 0U);
  ASSERT_EQ(outcome.findings.size(), 1U);
  EXPECT_EQ(outcome.findings[0].text_key, "cluster.no_slow_work");
  Outcome alone;
  Explain(RanksOf(1, 0), alone);
  ASSERT_EQ(alone.findings.size(), 1U);
  EXPECT_EQ(alone.findings[0].text_key, "cluster.no_peers");
}

}  // namespace
}  // namespace sonde::cluster
