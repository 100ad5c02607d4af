#include "recipes/slow_rank/slow_ranks.h"

#include <gtest/gtest.h>

#include <string>

#include "recipes/finding/slow_rank.h"
#include "recipes/slow_rank/outliers.h"

namespace sonde::recipes::slow_rank {
namespace {

constexpr int64_t kCallNs = 100'000;
constexpr int64_t kWaitNs = 50'000;
constexpr int32_t kGroupOf = 4;

// Ranks that call one kernel `calls` times a step, and then meet in groups of four.
class Job {
 public:
  Job(int32_t ranks, int32_t steps, int64_t calls) {
    for (int32_t rank = 0; rank < ranks; ++rank) AddRank(rank, steps, calls);
  }

  // Some calls of a step take longer, together by `ns`, the longest of them by `longest_ns`.
  void Lengthen(int32_t rank, size_t step, int64_t ns, int64_t longest_ns) {
    RankWork& part = ranks_[static_cast<size_t>(rank)];
    part.Rows<WorkStep>()[step].compute_ns += ns;
    part.Rows<WorkTasks>()[step].dur_ns += ns;
    part.Rows<WorkTasks>()[step].longest_ns += longest_ns;
    for (RankWork& other : ranks_) {  // of its group
      if (other.rank == rank || other.rank / kGroupOf != rank / kGroupOf) continue;
      other.Rows<WorkStep>()[step].exposed_ns += ns;
      other.Rows<WorkCollective>()[step].dur_ns += ns;
    }
  }

  std::vector<int32_t> SlowRanks() const {
    std::vector<int32_t> slow;
    for (const Finding& finding : recipes::SlowRanks(ranks_)) {
      slow.push_back(static_cast<int32_t>(finding.rank));
    }
    return slow;
  }

  std::vector<RankWork>& ranks() { return ranks_; }
  const RankWork& at(size_t rank) const { return ranks_[rank]; }

 private:
  void AddRank(int32_t rank, int32_t steps, int64_t calls) {
    RankWork part{.rank = rank};
    part.Rows<WorkFacts>().push_back({});
    const std::string group = "group " + std::to_string(rank / kGroupOf);
    for (const std::string& text : {std::string("MatMul"), std::string("\"8,8\""), group}) {
      part.texts.Add(text);
    }
    for (int32_t step = 0; step < steps; ++step) {
      part.Rows<WorkStep>().push_back(
          {.step = step, .compute_ns = calls * kCallNs, .exposed_ns = kWaitNs});
      part.Rows<WorkTasks>().push_back({.step = step,
                                        .name = 0,
                                        .shapes = 1,
                                        .count = calls,
                                        .dur_ns = calls * kCallNs,
                                        .longest_ns = kCallNs});
      part.Rows<WorkCollective>().push_back(
          {.step = step, .group = 2, .type = 0, .name = 0, .dur_ns = kWaitNs});
    }
    ranks_.push_back(std::move(part));
  }

  std::vector<RankWork> ranks_;
};

TEST(OutliersOf, IsTheLongestCallWithoutTheOthersOfItsKind) {
  Job job(kGroupOf, 3, 10);
  job.Lengthen(1, 2, 70'000, 70'000);
  EXPECT_EQ(OutliersOf(RankOfJob(job.at(1))), (std::vector<int64_t>{0, 0, 70'000}));
  EXPECT_EQ(OutliersOf(RankOfJob(job.at(0))), (std::vector<int64_t>{0, 0, 0}));
}

TEST(OutliersOf, TakesNothingOfAKindThatIsCalledOnce) {
  const Job job(kGroupOf, 1, 1);
  EXPECT_EQ(OutliersOf(RankOfJob(job.at(1))), (std::vector<int64_t>{0}));
}

TEST(FindSlowRanks, DoesNotAccuseARankOfOneLongCall) {
  Job job(kGroupOf, 3, 10);
  job.Lengthen(1, 2, 80'000, 80'000);  // 8 % of the step
  EXPECT_TRUE(job.SlowRanks().empty());
  job.Lengthen(1, 0, 80'000, 80'000);  // and in another step, too
  job.Lengthen(1, 1, 80'000, 80'000);
  EXPECT_EQ(job.SlowRanks(), (std::vector<int32_t>{1}));
}

TEST(FindSlowRanks, FindsARankForWhichItsGroupAloneWaits) {
  Job job(10 * kGroupOf, 3, 10);
  EXPECT_TRUE(job.SlowRanks().empty());
  for (const size_t step : {0U, 1U, 2U}) job.Lengthen(9, step, 50'000, 5'000);
  EXPECT_EQ(job.SlowRanks(), (std::vector<int32_t>{9}));
}

// What a rank idles longer is hidden in the noise of what it computes, but the others wait for it.
TEST(FindSlowRanks, FindsWhatOnePartTakesLonger) {
  Job job(kGroupOf, 12, 10);
  const auto noise = [](size_t rank, size_t step) {
    return static_cast<int64_t>((rank * 7919 + step * 104'729) % 61) * 2000 - 60'000;
  };
  for (size_t rank = 0; rank < kGroupOf; ++rank) {
    for (size_t step = 0; step < 12; ++step) {
      WorkStep& work = job.ranks()[rank].Rows<WorkStep>()[step];
      work.compute_ns += noise(rank, step);
      work.free_ns = 10'000;
      if (rank == 2) {
        work.free_ns += 60'000;
        work.late_ns += 60'000;
      } else {
        work.exposed_ns += 60'000;
      }
    }
  }
  EXPECT_EQ(job.SlowRanks(), (std::vector<int32_t>{2}));
  // Nobody waits: it has only less to wait for.
  for (size_t rank = 0; rank < kGroupOf; ++rank) {
    for (WorkStep& work : job.ranks()[rank].Rows<WorkStep>()) work.exposed_ns = kWaitNs;
  }
  EXPECT_TRUE(job.SlowRanks().empty());
}

TEST(FindSlowRanks, ComparesRanksOfOneRunAndSaysWhoIsMissing) {
  Job job(kGroupOf, 3, 10);
  for (const size_t step : {0U, 1U, 2U}) job.Lengthen(1, step, 80'000, 8'000);
  for (RankWork& rank : job.ranks()) rank.Rows<WorkFacts>().front().world = 8;
  const auto findings = recipes::SlowRanksOrNone(job.ranks());
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(TextOf(findings[0], Language::kEnglish).substr(0, 14), "rank 1 is slow");
  EXPECT_EQ(TextOf(findings[1], Language::kEnglish),
            "4 of the 8 ranks of the job are here: whether one of the others is slow is "
            "unknown");
  job.ranks()[1].run = 1;
  EXPECT_TRUE(job.SlowRanks().empty());
  job.ranks()[1].run = 0;
  job.ranks()[2].rank = 0;  // two runs that nothing distinguishes
  EXPECT_TRUE(recipes::SlowRanksOrNone(job.ranks()).empty());
}

// A busy machine: the rank is slower in wall time alone.
TEST(FindSlowRanks, WhoWaitsForAProcessorIsNotSlow) {
  Job job(kGroupOf, 6, 10);
  for (size_t step = 0; step < 6; ++step) {
    job.Lengthen(1, step, 300'000, 20'000);
    job.ranks()[1].Rows<WorkStep>()[step].unserved_ns = 310'000;
  }
  EXPECT_TRUE(job.SlowRanks().empty());
  const auto findings = recipes::SlowRanksOrNone(job.ranks());
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_TRUE(TextOf(findings[0], Language::kEnglish)
                  .starts_with("of 4 ranks, none is slow by its program: "));
  const std::string text = TextOf(findings[1], Language::kEnglish);
  EXPECT_TRUE(
      text.starts_with("rank 1 waits 310.00 us a step for a processor that other programs "
                       "have, "))
      << text;
  EXPECT_NE(text.find("in all steps its own work takes 300.00 us longer by that"),
            std::string::npos)
      << text;
  // All wait alike: nobody has a sentence.
  for (RankWork& rank : job.ranks()) {
    for (WorkStep& work : rank.Rows<WorkStep>()) {
      work = {.step = work.step,
              .compute_ns = 1'300'000,
              .exposed_ns = kWaitNs,
              .unserved_ns = 310'000};
    }
  }
  const auto none = recipes::SlowRanksOrNone(job.ranks());
  ASSERT_EQ(none.size(), 1U);
  EXPECT_EQ(none[0].text_key, "cluster.no_slow_program");
}

// On a busy machine ranks differ by more than on a quiet one.
TEST(FindSlowRanks, ASmallExcessBesideMuchWaitingIsNoCertainOne) {
  for (const int64_t unserved_ns : {50'000, 1'000'000}) {
    Job job(kGroupOf, 6, 10);
    for (size_t step = 0; step < 6; ++step) {
      job.Lengthen(1, step, 80'000, 8'000);
      for (RankWork& rank : job.ranks()) {
        WorkStep& work = rank.Rows<WorkStep>()[step];
        work.free_ns += unserved_ns;
        work.late_ns += unserved_ns;
        work.unserved_ns = work.unserved_late_ns = unserved_ns;
      }
    }
    EXPECT_EQ(job.SlowRanks().empty(), unserved_ns > 800'000) << unserved_ns;
  }
}

TEST(FindSlowRanks, ASlowProgramIsNamedOnABusyMachineToo) {
  Job job(kGroupOf, 6, 10);
  for (size_t step = 0; step < 6; ++step) {
    job.Lengthen(1, step, 500'000, 50'000);
    job.ranks()[1].Rows<WorkStep>()[step].unserved_ns = 200'000;
  }
  EXPECT_EQ(job.SlowRanks(), (std::vector<int32_t>{1}));
}

// Its host launches late and does nothing known: the machine may be the reason where others had its
// processor for longer than the excess.
TEST(FindSlowRanks, TheSameWorkThatTakesLongerMayBeTheMachine) {
  constexpr int64_t kLateNs = 1'100'000;
  const auto slow_ranks = [](int64_t unserved_ns) {
    Job job(kGroupOf, 6, 10);
    for (RankWork& rank : job.ranks()) {
      for (size_t step = 0; step < 6; ++step) {
        WorkStep& work = rank.Rows<WorkStep>()[step];
        if (rank.rank != 1) {
          work.exposed_ns += kLateNs;
          rank.Rows<WorkCollective>()[step].dur_ns += kLateNs;
          continue;
        }
        work.free_ns = work.late_ns = kLateNs;
        work.unserved_ns = work.unserved_late_ns = unserved_ns;
      }
    }
    return job.SlowRanks();
  };
  EXPECT_EQ(slow_ranks(600'000), std::vector<int32_t>());
  EXPECT_EQ(slow_ranks(300'000), std::vector<int32_t>{1});
}

// Pairs of ranks, each in a group of its own; traces that do not distinguish transfers from
// waiting.
TEST(FindSlowRanks, FindsTheGroupWhoseLinkIsSlow) {
  const auto job_of = [](size_t groups, int64_t more_ns) {
    Job job(static_cast<int32_t>(groups * kGroupOf), 4, 10);
    for (size_t rank = 0; rank < groups * kGroupOf; ++rank) {
      for (WorkCollective& op : job.ranks()[rank].Rows<WorkCollective>()) {
        op.dur_ns += static_cast<int64_t>(rank % kGroupOf * 500);
        if (rank / kGroupOf == 1) op.dur_ns += more_ns;
      }
    }
    return job;
  };
  const Job slow = job_of(4, 40'000);
  const auto findings = recipes::SlowRanks(const_cast<Job&>(slow).ranks());
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_TRUE(TextOf(findings[0], Language::kEnglish)
                  .starts_with("the link of group group 1 (ranks 4,5,6,7) is slow in all steps"))
      << TextOf(findings[0], Language::kEnglish);
  EXPECT_TRUE(job_of(4, 4'000).SlowRanks().empty()) << "less than a tenth";
  EXPECT_TRUE(job_of(2, 40'000).SlowRanks().empty()) << "of two none is the odd one";
}

}  // namespace
}  // namespace sonde::recipes::slow_rank
