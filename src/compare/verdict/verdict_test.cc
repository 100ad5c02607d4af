#include "compare/verdict/verdict.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/strings.h"

namespace sonde::compare {
namespace {

TEST(VerdictTest, StagesOfSeveralSteps) {
  EXPECT_EQ(JudgeStage("step", {10, 10.1, 9.9, 10}, {12, 12.1, 11.9, 12}).verdict,
            Verdict::kChanged);
  EXPECT_EQ(JudgeStage("step", {10, 10.01, 9.99, 10}, {10, 10.01, 9.99, 10}).verdict,
            Verdict::kUnchanged);
  EXPECT_EQ(JudgeStage("step", {10, 14, 7, 12}, {10, 14, 7, 12}).verdict, Verdict::kUnchanged);
  EXPECT_EQ(JudgeStage("step", {10, 14, 7, 12}, {11, 15, 8, 13}).verdict, Verdict::kTooNoisy);
  EXPECT_EQ(JudgeStage("step", {10}, {12, 12}).verdict, Verdict::kOneStep);
}

// A loaded machine: all steps are slower, one of them by far.
TEST(VerdictTest, AStepFarOffHidesNoChangeOfAllOthers) {
  const Stage stage = JudgeStage("step", {10, 10.1, 9.9, 10, 10, 10.2}, {16, 15, 17, 15.5, 16, 60});
  EXPECT_EQ(stage.verdict, Verdict::kChanged);
  EXPECT_GT(stage.low_ms, 4);
  EXPECT_LT(stage.rank_tail, 0.01);
}

TEST(VerdictTest, ADifferenceSmallerThanTheLimitIsNone) {
  EXPECT_EQ(JudgeStage("step", {10, 10.001, 9.999, 10}, {10.1, 10.101, 10.099, 10.1}).verdict,
            Verdict::kUnchanged);
}

// Computed manually: means 10 and 12, variances 0.02/3, error 0.0577, Welch's freedom 6, t 3.707.
TEST(VerdictTest, TheIntervalIsWelchs) {
  const Stage stage = JudgeStage("step", {10, 10.1, 9.9, 10}, {12, 12.1, 11.9, 12});
  EXPECT_NEAR(stage.diff_ms, 2, 1e-9);
  EXPECT_NEAR(stage.high_ms - stage.low_ms, 2 * 3.707 * 0.057735, 1e-3);
}

TEST(VerdictTest, FailConditions) {
  EXPECT_EQ(ParseFailCondition("step > 3%")->limit, 3);
  EXPECT_FALSE(ParseFailCondition("free>1.5 ms")->is_percent);
  for (const char* text :
       {"", "step", "step < 3%", "steps > 3%", "step > x%", "step > 3", "> 3%"}) {
    EXPECT_FALSE(ParseFailCondition(text).ok()) << text;
  }
  Judgement judgement;
  judgement.stages = {JudgeStage("step", {10, 10.1, 9.9, 10}, {12, 12.1, 11.9, 12})};
  EXPECT_NE(CheckFail(*ParseFailCondition("step > 3%"), judgement)->failed, "");
  EXPECT_NE(CheckFail(*ParseFailCondition("step > 1.5ms"), judgement)->failed, "");
  EXPECT_EQ(CheckFail(*ParseFailCondition("step > 19%"), judgement)->failed,
            "");  // within the noise
  judgement.stages = {JudgeStage("step", {10}, {12})};
  EXPECT_FALSE(CheckFail(*ParseFailCondition("step > 3%"), judgement).ok());
}

// A side with one kernel of each (operator, kernel, shapes, nanoseconds) in a step.
struct Planted {
  const char* op;
  const char* kernel;
  const char* shapes;
  int64_t dur_ns;
  int64_t calls;
  const char* types = "";
};

Side SideWith(const std::vector<Planted>& planted) {
  Side side;
  side.kind = SideKind::kNpuDb;
  side.steps = {{.step_id = 1, .begin_ns = 0, .end_ns = 1'000'000'000}};
  const auto name = [&side](const char* text) {
    side.names.emplace_back(text);
    return static_cast<int32_t>(side.names.size()) - 1;
  };
  for (const Planted& one : planted) {
    for (int64_t i = 0; i < one.calls; ++i) {
      Kernel kernel{.name = name(one.kernel), .type = name(one.op), .core = name("AI_CORE")};
      kernel.shapes = name(one.shapes);
      kernel.types = name(one.types);
      kernel.begin_ns = static_cast<int64_t>(side.kernels.size());
      kernel.dur_ns = one.dur_ns;
      side.kernels.push_back(kernel);
    }
  }
  return side;
}

std::string FirstCause(const std::vector<Planted>& base, const std::vector<Planted>& comparison) {
  const Judgement judgement = Judge(SideWith(base), SideWith(comparison));
  for (const Cause& cause : judgement.causes) {
    if (!cause.subject.empty()) return base::Concat(TextOf(cause.cause), " | ", cause.subject);
  }
  return "";
}

TEST(VerdictTest, PlantedCausesAreFound) {
  const std::vector<Planted> usual = {{"MatMul", "mm", "8;8", 1'000'000, 4},
                                      {"Add", "add", "8", 200'000, 10}};
  auto changed = usual;
  EXPECT_EQ(FirstCause(usual, usual), "");
  changed.push_back({"Cast", "cast", "8", 500'000, 1});
  EXPECT_EQ(FirstCause(usual, changed), "appeared | Cast");
  EXPECT_EQ(FirstCause(changed, usual), "vanished | Cast");
  changed = usual;
  changed[0].kernel = "mm_slow";
  changed[0].dur_ns = 1'400'000;
  EXPECT_EQ(FirstCause(usual, changed), "other kernels | MatMul");
  changed = usual;
  changed[0].shapes = "16;8";
  changed[0].dur_ns = 1'900'000;
  EXPECT_EQ(FirstCause(usual, changed), "other shapes | MatMul (mm)");
  // With the kernel that a library chooses for the size: one cause.
  changed[0].kernel = "mm_large";
  EXPECT_EQ(FirstCause(usual, changed), "other shapes | MatMul");
  changed = usual;
  changed[0].dur_ns = 1'100'000;
  EXPECT_EQ(FirstCause(usual, changed), "other time at the same shapes | MatMul (mm)");
  changed = usual;
  changed[1].calls = 12;
  EXPECT_EQ(FirstCause(usual, changed), "more or fewer calls | Add (add)");
  changed = usual;
  changed.push_back({"Add", "add", "32", 300'000, 1});
  EXPECT_EQ(FirstCause(usual, changed), "more or fewer calls | Add (add)")
      << "shapes in addition take the place of none";
  EXPECT_EQ(FirstCause(changed, usual), "more or fewer calls | Add (add)");
  auto unknown = std::vector<Planted>{{"MatMul", "mm", "", 1'000'000, 4}};
  changed = unknown;
  changed[0].dur_ns = 1'100'000;
  EXPECT_EQ(FirstCause(unknown, changed), "other time (shapes are not recorded) | MatMul (mm)");
}

// Data that one side did not record is no difference.
TEST(VerdictTest, ShapesOfOneSideAloneGiveNoVerdict) {
  const std::vector<Planted> with = {{"MatMul", "mm", "8;8", 1'000'000, 4}};
  auto without = with;
  without[0].shapes = "";
  EXPECT_EQ(FirstCause(with, without), "");
  EXPECT_EQ(FirstCause(without, with), "");
}

TEST(VerdictTest, OtherTypesAreOneCauseWhateverTheKernel) {
  const std::vector<Planted> usual = {{"MatMul", "mm_half", "8;8", 1'000'000, 4, "bf16"},
                                      {"MatMul", "mm_half", "8;4", 900'000, 1, "bf16"}};
  auto changed = usual;
  changed[0].kernel = "mm_float";
  changed[0].types = "float";
  changed[0].dur_ns = 4'000'000;
  EXPECT_EQ(FirstCause(usual, changed), "other types | MatMul");
}

TEST(VerdictTest, CausesHaveTheirNamesInTheSentence) {
  const std::vector<Planted> usual = {{"MatMul", "mm", "8;8", 1'000'000, 4}};
  auto changed = usual;
  changed.push_back({"Cast", "cast", "8", 500'000, 1});
  const Judgement judgement = Judge(SideWith(usual), SideWith(changed));
  EXPECT_NE(SentencesOf(judgement).find("Cast: appeared +0.500 ms"), std::string::npos);
  const std::string chinese = SentencesOf(judgement, recipes::Language::kChinese);
  EXPECT_NE(chinese.find("Cast: 新增 +0.500 ms"), std::string::npos) << chinese;
}

TEST(VerdictTest, WithoutShapesALargerBatchLooksLikeASlowMachine) {
  for (const std::string_view shapes : {"8", ""}) {
    std::vector<Planted> base;
    std::vector<Planted> slower;
    for (const char* op : {"a", "b", "c", "d", "e", "f", "g", "h", "i"}) {
      base.push_back({op, op, shapes.data(), 100'000, 1});
      slower.push_back({op, op, shapes.data(), 150'000, 1});
    }
    const Judgement found = Judge(SideWith(base), SideWith(slower));
    ASSERT_FALSE(found.causes.empty());
    EXPECT_EQ(found.causes.front().cause,
              shapes.empty() ? CauseWord::kUnsized : CauseWord::kMachine);
  }
}

TEST(VerdictTest, WorkOfBothSidesIsAligned) {
  const std::vector<Planted> base = {{"MatMul", "mm", "8", 900'000, 1}};
  const std::vector<Planted> other = {{"MatMul", "mm", "8", 900'000, 1},
                                      {"Cast", "c", "8", 200'000, 1}};
  EXPECT_NEAR(Judge(SideWith(base), SideWith(other)).aligned_share, 0.9, 1e-9);
}

// Four steps of 10 ms, in which each device computes for so long.
Side WithDevices(const std::vector<std::pair<const char*, int64_t>>& computing_ms) {
  Side side;
  side.kind = SideKind::kGpu;
  for (int64_t i = 0; i < 4; ++i) {
    Window step{.step_id = i, .begin_ns = i * 10'000'000, .end_ns = (i + 1) * 10'000'000};
    for (const auto& [device, ms] : computing_ms) {
      step.devices[device] = {.computing_ns = ms * 1'000'000 + i * 1000, .free_ns = 1'000'000};
    }
    side.steps.push_back(step);
  }
  return side;
}

const Stage* StageOf(const Judgement& judgement, std::string_view name) {
  const auto found =
      std::ranges::find(judgement.stages, name, [](const Stage& stage) { return NameOf(stage); });
  return found == judgement.stages.end() ? nullptr : &*found;
}

// Not the mean, which is the time of none of them.
TEST(VerdictTest, EachDeviceHasItsStages) {
  const Judgement judgement =
      Judge(WithDevices({{"0", 2}, {"1", 4}}), WithDevices({{"0", 2}, {"1", 6}}));
  EXPECT_EQ(StageOf(judgement, "computing"), nullptr);
  const Stage* first = StageOf(judgement, "computing of device 0");
  const Stage* second = StageOf(judgement, "computing of device 1");
  ASSERT_TRUE(first != nullptr && second != nullptr);
  EXPECT_EQ(first->verdict, Verdict::kUnchanged);
  EXPECT_EQ(second->verdict, Verdict::kChanged);
  EXPECT_NEAR(second->base.mean_ms, 4.0015, 1e-9);
  const auto check = CheckFail(*ParseFailCondition("computing > 20%"), judgement);
  EXPECT_NE(check->failed.find("computing of device 1 takes"), std::string::npos) << check->failed;
  EXPECT_NE(SentencesOf(judgement).find("device 1: computing takes 6.002 ms a step, 4.002 ms"),
            std::string::npos)
      << SentencesOf(judgement);
}

TEST(VerdictTest, DevicesOfOneSideHaveNoStages) {
  const Judgement some = Judge(WithDevices({{"0", 2}, {"1", 4}}), WithDevices({{"1", 4}}));
  EXPECT_EQ(some.lone_devices[0], std::vector<std::string>{"0"});
  EXPECT_EQ(StageOf(some, "computing of device 0"), nullptr);
  EXPECT_NE(StageOf(some, "computing of device 1"), nullptr);
  const Judgement none = Judge(WithDevices({{"0", 2}, {"1", 4}}), WithDevices({{"5", 4}}));
  EXPECT_EQ(none.stages.size(), 1U);
  EXPECT_EQ(none.lone_devices[0].size() + none.lone_devices[1].size(), 3U);
  // One on each side is the same one, wherever the program ran.
  const Judgement moved = Judge(WithDevices({{"3", 2}}), WithDevices({{"5", 2}}));
  EXPECT_NE(StageOf(moved, "computing"), nullptr);
}

}  // namespace
}  // namespace sonde::compare
