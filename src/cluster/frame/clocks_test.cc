#include "cluster/frame/clocks.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace sonde::cluster {
namespace {

constexpr int64_t kMs = 1'000'000;

// A rank of `host` in `count` all-reduces, one each 100 ms, of 5 ms; its clock is `ahead` of true.
RankPart RankOn(int32_t rank, const char* host, int64_t ahead, int count,
                const char* type = "hcom_allReduce_") {
  RankPart part{.rank = rank, .path = "", .part = {}};
  part.part.Rows<HostOfRank>().push_back({host});
  for (int i = 0; i < count; ++i) {
    const int64_t end = 1000 * kMs + i * 100 * kMs;
    const int64_t noise = (rank * 7 + i * 3) % 5 * 1000;
    part.part.Rows<CollectiveTime>().push_back(
        {"group", type, end - 5 * kMs + ahead, end + noise + ahead});
  }
  return part;
}

std::vector<RankPart> Ranks(RankPart a, RankPart b, RankPart c) {
  std::vector<RankPart> ranks;
  for (RankPart* one : {&a, &b, &c}) ranks.push_back(std::move(*one));
  return ranks;
}

TEST(Clocks, OfOneHostAreOne) {
  Outcome outcome;
  const auto clocks = FindClocks(
      Ranks(RankOn(0, "a", 0, 9), RankOn(1, "a", 50 * kMs, 9), RankOn(2, "a", 0, 9)), {}, outcome);
  EXPECT_TRUE(clocks.rows.empty());
  EXPECT_TRUE(outcome.notices.empty());
}

TEST(Clocks, ThatDisagreeAreFound) {
  for (const int64_t ahead : {-70 * kMs, 2 * kMs, kMs / 2, 3'600'000 * kMs}) {
    Outcome outcome;
    const auto clocks =
        FindClocks(Ranks(RankOn(0, "a", 0, 9), RankOn(1, "b", ahead, 9), RankOn(2, "b", ahead, 9)),
                   {}, outcome);
    ASSERT_EQ(clocks.rows.size(), 2U);
    EXPECT_NEAR(static_cast<double>(clocks.Of(1)), static_cast<double>(ahead), 5000);
    EXPECT_EQ(clocks.Of(1), clocks.Of(2));
    EXPECT_EQ(clocks.Of(0), 0);
    EXPECT_EQ(outcome.notices.size(), 1U);
  }
  Outcome outcome;
  const auto small = FindClocks(
      Ranks(RankOn(0, "a", 0, 9), RankOn(1, "b", kMs / 50, 9), RankOn(2, "b", kMs / 50, 9)), {},
      outcome);
  EXPECT_TRUE(small.rows.empty());
}

TEST(Clocks, AreNotJudgedByFewCollectivesOrByThoseThatEndApart) {
  for (const auto& [count, type] :
       {std::pair(2, "hcom_allReduce_"), std::pair(9, "hcom_broadcast_")}) {
    Outcome outcome;
    const auto clocks =
        FindClocks(Ranks(RankOn(0, "a", 0, count, type), RankOn(1, "b", 70 * kMs, count, type),
                         RankOn(2, "b", 70 * kMs, count, type)),
                   {}, outcome);
    EXPECT_TRUE(clocks.rows.empty());
  }
}

// Moves begins and ends of a rank's collectives, the n-th by (n + 1) * `each` more.
RankPart Moved(RankPart rank, int64_t begin, int64_t end, int64_t each = 0) {
  int64_t more = each;
  for (CollectiveTime& one : rank.part.Rows<CollectiveTime>()) {
    one.begin_ns += begin + more;
    one.end_ns += end;
    more += each;
  }
  return rank;
}

TEST(Clocks, OfRanksWithoutAHostAreFoundByBeginsAndEnds) {
  for (const int64_t ahead : {9 * kMs, 2 * kMs, -540 * kMs / 1000}) {
    Outcome outcome;
    const auto found = FindClocks(
        Ranks(RankOn(0, "", 0, 9), RankOn(1, "", ahead, 9), RankOn(2, "", 0, 9)), {}, outcome);
    EXPECT_NEAR(static_cast<double>(found.Of(1)), static_cast<double>(ahead), 5000);
    EXPECT_EQ(found.Of(2), 0);
  }
  // It is late, too, by another time in each.
  Outcome outcome;
  const auto late =
      FindClocks(Ranks(RankOn(0, "", 0, 9), Moved(RankOn(1, "", -kMs / 5, 9), kMs / 2, 0, kMs / 10),
                       RankOn(2, "", 0, 9)),
                 {}, outcome);
  EXPECT_NEAR(static_cast<double>(late.Of(1)), -0.2 * kMs, 5000);
}

TEST(Clocks, AreRightWhereARankBeginsOrEndsLate) {
  for (const auto& [begin, end] :
       {std::pair(3 * kMs, int64_t{0}), std::pair(int64_t{0}, 2 * kMs)}) {
    Outcome outcome;
    const auto late = FindClocks(
        Ranks(RankOn(0, "", 0, 9), Moved(RankOn(1, "", 0, 9), begin, end), RankOn(2, "", 0, 9)), {},
        outcome);
    EXPECT_TRUE(late.rows.empty());
  }
}

TEST(Clocks, AreLeftOnDemand) {
  Outcome outcome;
  ModeOptions options;
  options.values[std::string(kKeepClocks.name)] = "";
  const auto clocks = FindClocks(
      Ranks(RankOn(0, "a", 0, 9), RankOn(1, "b", 9 * kMs, 9), RankOn(2, "b", 9 * kMs, 9)), options,
      outcome);
  ASSERT_EQ(clocks.rows.size(), 2U);
  EXPECT_EQ(clocks.Of(1), 0);
  EXPECT_EQ(clocks.rows[1].is_corrected, 0);
}

}  // namespace
}  // namespace sonde::cluster
