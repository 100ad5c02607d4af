// Several ranks side by side: who is slow, by how much, and when nobody is.
#include "advisor/ranks/ranks.h"

#include <gtest/gtest.h>

namespace sonde::advisor {
namespace {

Rule RuleOf(std::string_view name) {
  const auto book = LoadRules({});
  for (const Rule& rule : book->rules) {
    if (rule.name == name) return rule;
  }
  ADD_FAILURE() << "there is no rule " << name;
  return {};
}

Ranks TwoRanks(double slow_us) {
  Ranks ranks;
  ranks.steps = {{7, 0, 1000, 500, 500}, {7, 1, slow_us, 500, 500}};
  return ranks;
}

TEST(Ranks, ExtremesNeedAGap) {
  const Extremes close = ExtremesOf({{7, 0, 100}, {7, 1, 105}});
  EXPECT_EQ(close.most_rank, -1);
  const Extremes apart = ExtremesOf({{7, 0, 100}, {8, 1, 105.2}, {8, 2, 105.2}});
  EXPECT_EQ(apart.most_rank, 1) << "the first of equals";
  EXPECT_EQ(apart.most_step, 8);
  EXPECT_EQ(apart.least_rank, 0);
  EXPECT_EQ(ExtremesOf({}).most_rank, -1);
  EXPECT_EQ(ExtremesOf({{7, 0, 0}, {7, 1, 0}}).most_rank, -1);
}

TEST(Ranks, SlowRankByTheShareOfTheMeanStep) {
  const Rule rule = RuleOf("slow_rank");
  const Found quiet = SlowRank(rule, TwoRanks(1102), Language::kEnglish);
  EXPECT_EQ(TextOf(quiet.facts.at("sentences")), "There is no slow rank issues");
  Ranks ranks = TwoRanks(1103);
  EXPECT_FALSE(SlowRank(rule, ranks, Language::kEnglish).facts.contains("gain_us"))
      << "no rank was found to be slow";
  recipes::Finding cause;
  cause.text_key = "cluster.slow_cause";
  ranks.outcome.findings = {cause};
  const Found found = SlowRank(rule, ranks, Language::kEnglish);
  EXPECT_EQ(TextOf(found.facts.at("sentences")),
            "Computing \n    has some issues in the cluster, \n    because the max difference of "
            "Computing time \n    has reached 0.103ms. \n");
  EXPECT_EQ(NumberOf(found.facts.at("total_us")), 103);
  EXPECT_EQ(NumberOf(found.facts.at("gain_us")), 51.5);
  EXPECT_EQ(found.sheets[0].rows.size(), 2U);
  ranks.steps[1].compute_us = 1102;
  EXPECT_TRUE(SlowRank(rule, ranks, Language::kEnglish).is_for_files)
      << "not 'no slow rank' beside one";
  EXPECT_NE(
      TextOf(SlowRank(rule, TwoRanks(1103), Language::kChinese).facts.at("sentences")).find("计算"),
      std::string::npos);
}

TEST(Ranks, SlowLinkIsAlwaysReported) {
  Ranks ranks;
  ranks.links = {{7, 0, 0, 0, 20, 2}, {7, 1, 0, 0, 20, 4}};
  EXPECT_EQ(TextOf(SlowLink(ranks, Language::kEnglish).facts.at("sentences")),
            "RDMA bandwidth(GB/s): \n    The average is 0.0, \n    while the maximum  is 0GB/s \n"
            "    and the minimum is 0GB/s. \n    the difference is 0GB/s. \n"
            "SDMA bandwidth(GB/s): \n    The average is 7.5, \n    while the maximum  is 10.0GB/s "
            "\n    and the minimum is 5.0GB/s. \n    the difference is 5.0GB/s. \n");
}

TEST(Ranks, RetransmissionIsNoSkew) {
  const Rule rule = RuleOf("communication_retransmission_analysis");
  Ranks ranks;
  ranks.ops = {{"g", "allreduce", 7, 0, 4100, 10, 4001, 2},
               {"g", "allreduce", 7, 1, 4000, 10, 3, 2}};
  const Found found = Retransmission(rule, ranks);
  EXPECT_EQ(NumberOf(found.facts.at("occurrences")), 1);
  EXPECT_EQ(NumberOf(found.facts.at("total_us")), 4'001'000);
  ranks.ops[1].elapsed_ms = 3999;
  EXPECT_EQ(NumberOf(Retransmission(rule, ranks).facts.at("occurrences")), 0)
      << "one rank was not held up: the others waited for a late one";
  ranks.ops[1].elapsed_ms = 4000;
  ranks.ops[0].rdma_ms = 4000;
  EXPECT_EQ(NumberOf(Retransmission(rule, ranks).facts.at("occurrences")), 0);
}

TEST(SlowRankCause, HasTheFindingsOfTheModeOrNothing) {
  Ranks ranks;
  recipes::Finding& other = ranks.outcome.findings.emplace_back();
  other.text_key = "cluster.no_slow_rank";
  EXPECT_TRUE(SlowRankCause(ranks, Language::kEnglish).facts.empty());
  recipes::Finding& cause = ranks.outcome.findings.emplace_back();
  cause.text_key = "cluster.slow_also";
  cause.arguments = {"5", "3.00 ms", "more work"};
  const Found found = SlowRankCause(ranks, Language::kEnglish);
  EXPECT_EQ(std::get<int64_t>(found.facts.at("occurrences")), 1);
  const std::string& sentences = std::get<std::string>(found.facts.at("sentences"));
  EXPECT_NE(sentences.find("3.00 ms"), std::string::npos) << sentences;
  EXPECT_EQ(sentences, recipes::TextOf(cause, Language::kEnglish));
}

}  // namespace
}  // namespace sonde::advisor
