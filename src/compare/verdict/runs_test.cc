// Several runs a side, and what of a difference is the machine's.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "compare/verdict/verdict.h"

namespace sonde::compare {
namespace {

constexpr int64_t kMillisecond = 1'000'000;

// How long two operators take in a step, and how long others had its processor in it.
struct Step {
  int64_t matmul_ms = 50;
  int64_t gelu_ms = 30;
  int64_t unserved_ms = 0;
};

// A run whose host is the device; all it waits for a processor it waits in MatMul.
Side RunOf(const std::vector<Step>& steps) {
  Side run;
  run.kind = SideKind::kCpu;
  run.names = {"MatMul", "Gelu", "CPU"};
  int64_t at_ns = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    const int64_t begin_ns = at_ns;
    const int64_t matmul_ms = step.matmul_ms + step.unserved_ms;
    for (const auto& [name, ms] : {std::pair(0, matmul_ms), std::pair(1, step.gelu_ms)}) {
      Op op;
      op.name = name;
      op.thread = 0;
      op.begin_ns = at_ns;
      op.end_ns = at_ns + ms * kMillisecond;
      Kernel kernel{.name = name, .type = name, .core = 2};
      kernel.op = static_cast<int32_t>(run.ops.size());
      kernel.launch_ns = kernel.begin_ns = op.begin_ns;
      kernel.dur_ns = op.DurationNs();
      run.ops.push_back(op);
      run.kernels.push_back(kernel);
      at_ns = op.end_ns;
    }
    run.steps.push_back({.step_id = static_cast<int64_t>(i),
                         .begin_ns = begin_ns,
                         .end_ns = at_ns,
                         .processor_ns = at_ns - begin_ns - step.unserved_ms * kMillisecond,
                         .unserved_ns = step.unserved_ms * kMillisecond});
    at_ns += kMillisecond;
  }
  return run;
}

Side Steady(const Step& step) { return RunOf({step, step, step, step}); }

Side Runs(const std::vector<Step>& steps) {
  std::vector<Side> runs;
  for (const Step& step : steps) runs.push_back(Steady(step));
  return JoinRuns(std::move(runs));
}

std::string FailedOf(const Judgement& judgement, const std::string& condition = "step > 3%") {
  const auto check = CheckFail(*ParseFailCondition(condition), judgement);
  EXPECT_TRUE(check.ok()) << check.status().message();
  return check.ok() ? check->failed : "";
}

TEST(RunsTest, JoinedRunsKeepTextsAndOrder) {
  Side second = Steady({.matmul_ms = 60});
  second.names = {"Gelu", "MatMul", "CPU"};
  for (Op& op : second.ops) op.name = 1 - op.name;
  for (Kernel& kernel : second.kernels) kernel.type = kernel.name = 1 - kernel.name;
  std::vector<Side> runs;
  runs.push_back(Steady({}));
  runs.push_back(second);
  const Side all = JoinRuns(std::move(runs));
  EXPECT_EQ(all.runs, 2);
  EXPECT_EQ(all.names.size(), 3U);
  ASSERT_EQ(all.kernels.size(), 16U);
  EXPECT_EQ(all.Name(all.kernels[8].name), "MatMul");
  EXPECT_EQ(all.kernels[8].dur_ns, 60 * kMillisecond);
  EXPECT_EQ(all.kernels[8].op, 8);
  EXPECT_GT(all.kernels[8].begin_ns, all.kernels[7].EndNs());
  EXPECT_EQ(all.steps[4].run, 1);
  EXPECT_EQ(all.steps[4].begin_ns, all.kernels[8].begin_ns);
}

// Four steps of a run, but one sample.
TEST(RunsTest, TheRunIsTheSample) {
  const Judgement judgement = Judge(Runs({{.gelu_ms = 30}, {.gelu_ms = 31}, {.gelu_ms = 29}}),
                                    Runs({{.gelu_ms = 30}, {.gelu_ms = 45}, {.gelu_ms = 31}}));
  EXPECT_EQ(judgement.stages.front().base.steps, 3);
  EXPECT_EQ(judgement.stages.front().verdict, Verdict::kTooNoisy)
      << "one of the runs is slower: in four steps alike, which are no samples";
  EXPECT_EQ(FailedOf(judgement), "");
  EXPECT_NE(SentencesOf(judgement).find("means of 3 and 3 runs"), std::string::npos);
}

TEST(RunsTest, AChangeOfAllRunsIsNamed) {
  const Judgement judgement = Judge(Runs({{.gelu_ms = 30}, {.gelu_ms = 31}, {.gelu_ms = 29}}),
                                    Runs({{.gelu_ms = 45}, {.gelu_ms = 44}, {.gelu_ms = 46}}));
  EXPECT_EQ(judgement.stages.front().verdict, Verdict::kChanged);
  ASSERT_FALSE(judgement.causes.empty());
  EXPECT_EQ(judgement.causes.front().subject, "Gelu");
  EXPECT_EQ(judgement.causes.front().verdict, Verdict::kChanged);
  EXPECT_NE(FailedOf(judgement), "");
}

TEST(RunsTest, WaitingForAProcessorIsTheMachines) {
  const Step loaded = {.unserved_ms = 40};
  for (const Judgement& judgement : {Judge(Steady({}), Steady(loaded)),
                                     Judge(Runs({{}, {}, {}}), Runs({loaded, loaded, loaded}))}) {
    ASSERT_TRUE(judgement.knows_processors);
    EXPECT_EQ(judgement.stages.front().verdict, Verdict::kChanged);
    EXPECT_EQ(judgement.stages.back().name, "program");
    EXPECT_EQ(judgement.stages.back().verdict, Verdict::kUnchanged);
    EXPECT_EQ(FailedOf(judgement), "");
    const std::string sentences = SentencesOf(judgement);
    EXPECT_NE(
        sentences.find("+40.000 ms a step is the machine's: waiting for a processor that other "
                       "programs had (40.000 ms, 0.000 ms in the base). Without that a step "
                       "takes 80.000 ms, 80.000 ms in the base (+0.0 %): the program is "
                       "unchanged"),
        std::string::npos)
        << sentences;
    const auto check = CheckFail(*ParseFailCondition("step > 3%"), judgement);
    EXPECT_NE(check->spared.find("waits for a processor"), std::string::npos) << check->spared;
  }
}

TEST(RunsTest, TheProgramCountsOnALoadedMachineToo) {
  const Step slower = {.gelu_ms = 60, .unserved_ms = 40};
  const Judgement judgement = Judge(Runs({{}, {}, {}}), Runs({slower, slower, slower}));
  EXPECT_NE(FailedOf(judgement), "");
  EXPECT_NE(FailedOf(judgement, "program > 3%"), "");
}

TEST(RunsTest, OneRunASideSaysWhatIsMissing) {
  const Judgement judgement = Judge(Steady({}), Steady({.gelu_ms = 60}));
  const std::string sentences = SentencesOf(judgement);
  EXPECT_NE(sentences.find("one run on a side: its steps are not independent"), std::string::npos)
      << sentences;
  EXPECT_NE(sentences.find("the processor time of a step is 110.000 ms, 80.000 ms in the base"),
            std::string::npos)
      << sentences;
  EXPECT_EQ(SentencesOf(Judge(Runs({{}, {}}), Runs({{.gelu_ms = 60}, {.gelu_ms = 60}})))
                .find("one run on a side"),
            std::string::npos);
}

TEST(RunsTest, WhereProcessorsAreUnknownTheProgramIsNoStage) {
  Side base = Steady({});
  for (Window& step : base.steps) step.processor_ns = kNone;
  const Judgement judgement = Judge(base, Steady({.gelu_ms = 60}));
  EXPECT_FALSE(judgement.knows_processors);
  EXPECT_FALSE(CheckFail(*ParseFailCondition("program > 3%"), judgement).ok());
  EXPECT_NE(FailedOf(judgement), "");
}

}  // namespace
}  // namespace sonde::compare
