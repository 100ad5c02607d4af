#include "cluster/slow_rank/reasons.h"

#include <gtest/gtest.h>

#include "cluster/slow_rank/outliers.h"

namespace sonde::cluster {
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
    Part& part = ranks_[static_cast<size_t>(rank)].part;
    part.Rows<WorkStep>()[step].compute_ns += ns;
    part.Rows<WorkTasks>()[step].dur_ns += ns;
    part.Rows<WorkTasks>()[step].longest_ns += longest_ns;
    for (RankPart& other : ranks_) {  // of its group
      if (other.rank == rank || other.rank / kGroupOf != rank / kGroupOf) continue;
      other.part.Rows<WorkStep>()[step].exposed_ns += ns;
      other.part.Rows<WorkCollective>()[step].dur_ns += ns;
    }
  }

  std::vector<int32_t> SlowRanks() const {
    Outcome outcome;
    Explain(ranks_, outcome);
    std::vector<int32_t> slow;
    for (const recipes::Finding& finding : outcome.findings) {
      if (TellsOfCause(finding)) slow.push_back(static_cast<int32_t>(finding.rank));
    }
    return slow;
  }

  const RankPart& at(size_t rank) const { return ranks_[rank]; }

 private:
  void AddRank(int32_t rank, int32_t steps, int64_t calls) {
    Part part;
    part.Rows<WorkFacts>().push_back({});
    const std::string group = "group " + std::to_string(rank / kGroupOf);
    for (const std::string& text : {std::string("MatMul"), std::string("\"8,8\""), group}) {
      part.Rows<WorkText>().push_back({text});
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
    ranks_.push_back({rank, "", std::move(part)});
  }

  std::vector<RankPart> ranks_;
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

TEST(Explain, DoesNotAccuseARankOfOneLongCall) {
  Job job(kGroupOf, 3, 10);
  job.Lengthen(1, 2, 80'000, 80'000);  // 8 % of the step
  EXPECT_TRUE(job.SlowRanks().empty());
  job.Lengthen(1, 0, 80'000, 80'000);  // and in another step, too
  job.Lengthen(1, 1, 80'000, 80'000);
  EXPECT_EQ(job.SlowRanks(), (std::vector<int32_t>{1}));
}

TEST(Explain, FindsARankForWhichItsGroupAloneWaits) {
  Job job(10 * kGroupOf, 3, 10);
  EXPECT_TRUE(job.SlowRanks().empty());
  for (const size_t step : {0U, 1U, 2U}) job.Lengthen(9, step, 50'000, 5'000);
  EXPECT_EQ(job.SlowRanks(), (std::vector<int32_t>{9}));
}

}  // namespace
}  // namespace sonde::cluster
