// Which traces are taken for those of one launch.
#include "job/runs.h"

#include <gtest/gtest.h>

#include <vector>

namespace sonde::job {
namespace {

struct Named {
  std::string path;
  int32_t rank;
};

std::vector<int32_t> RunsOf(const std::vector<Named>& names) {
  std::vector<Trace> traces;
  for (const Named& name : names) {
    traces.push_back({.rank = name.rank, .source = {.path = name.path}});
  }
  GroupRuns(traces);
  std::vector<int32_t> runs;
  for (const Trace& trace : traces) runs.push_back(trace.run);
  return runs;
}

using Runs = std::vector<int32_t>;

TEST(RunsTest, NamesOfProfilersHaveTheProcess) {
  const auto ours = ProcessOfName("node_3_11_20250109081616713_ascend_pt");
  ASSERT_TRUE(ours);
  EXPECT_EQ(ours->host, "node_3");
  EXPECT_EQ(ours->pid, 11);
  EXPECT_EQ(ours->time, 20250109081616713);
  const auto torch = ProcessOfName("gpu7_4242.1700000000123456789.pt.trace.json.gz");
  ASSERT_TRUE(torch);
  EXPECT_EQ(torch->host, "gpu7");
  EXPECT_EQ(torch->pid, 4242);
  EXPECT_FALSE(ProcessOfName("rank0.json"));
  EXPECT_FALSE(ProcessOfName("1760000000.123-TP-0-DP-0.trace.json.gz"));
  EXPECT_FALSE(ProcessOfName(""));
}

TEST(RunsTest, ARankThatComesAgainBeginsAnother) {
  EXPECT_EQ(RunsOf({{"/j/rank0.json", 0}, {"/j/rank1.json", 1}}), (Runs{0, 0}));
  EXPECT_EQ(RunsOf({{"/j/a0.json", 0}, {"/j/a1.json", 1}, {"/j/b0.json", 0}, {"/j/b1.json", 1}}),
            (Runs{0, 0, 1, 1}));
  EXPECT_EQ(RunsOf({{"/j/rank0.a", 0}, {"/j/rank0.b", 0}, {"/j/rank1.a", 1}, {"/j/rank1.b", 1}}),
            (Runs{0, 1, 0, 1}));
}

TEST(RunsTest, InTheOrderOfTimeWhereNamesHaveIt) {
  // Rank 1 of the first launch left nothing.
  EXPECT_EQ(RunsOf({{"/j/h_10_20250109081616001_ascend_pt", 0},
                    {"/j/h_20_20250109091616001_ascend_pt", 0},
                    {"/j/h_21_20250109091616002_ascend_pt", 1}}),
            (Runs{0, 1, 1}));
  // Names in another order than times.
  EXPECT_EQ(RunsOf({{"/j/h_1_20250109091616001_ascend_pt", 0},
                    {"/j/h_2_20250109091616002_ascend_pt", 1},
                    {"/j/h_8_20250109081616001_ascend_pt", 0},
                    {"/j/h_9_20250109081616002_ascend_pt", 1}}),
            (Runs{1, 1, 0, 0}));
}

TEST(RunsTest, SessionsOfOneProcessAreOfOneRun) {
  EXPECT_EQ(RunsOf({{"/j/h_1_20250109081616001_ascend_pt", 0},
                    {"/j/h_2_20250109081616002_ascend_pt", 1},
                    {"/j/h_1_20250109091616001_ascend_pt", 0},
                    {"/j/h_2_20250109091616002_ascend_pt", 1}}),
            (Runs{0, 0, 0, 0}));
}

TEST(RunsTest, FoldersOfNodesAreOneRunAndFoldersOfRunsAreNot) {
  EXPECT_EQ(RunsOf({{"/j/node0/a", 0}, {"/j/node0/b", 1}, {"/j/node1/a", 2}, {"/j/node1/b", 3}}),
            (Runs{0, 0, 0, 0}));
  EXPECT_EQ(RunsOf({{"/before/a", 0}, {"/before/b", 1}, {"/after/a", 0}, {"/after/b", 1}}),
            (Runs{0, 0, 1, 1}));
  // A rank that is missing in the first run is not taken from the second.
  EXPECT_EQ(RunsOf({{"/before/a", 0}, {"/after/a", 0}, {"/after/b", 1}}), (Runs{0, 1, 1}));
}

TEST(RunsTest, TracesWithoutARankJoinTheirNeighbours) {
  EXPECT_EQ(RunsOf({{"/j/a.json", -1}, {"/j/b.json", -1}, {"/j/c.json", 0}}), (Runs{0, 0, 0}));
  EXPECT_EQ(RunsOf({}), Runs{});
}

}  // namespace
}  // namespace sonde::job
