#include "compare/verdict/verdict.h"

#include <algorithm>
#include <iterator>

#include "compare/difference/causes.h"
#include "compare/difference/tree.h"
#include "recipes/trace/counted_steps.h"

namespace sonde::compare {
namespace {

using recipes::Interval;

double MsIn(const std::vector<Interval>& intervals, const Window& window) {
  int64_t sum_ns = 0;
  auto one = std::lower_bound(
      intervals.begin(), intervals.end(), window.begin_ns,
      [](const Interval& interval, int64_t moment) { return interval.end_ns <= moment; });
  for (; one != intervals.end() && one->start_ns < window.end_ns; ++one) {
    sum_ns += std::min(one->end_ns, window.end_ns) - std::max(one->start_ns, window.begin_ns);
  }
  return Ms(sum_ns);
}

struct StepTimes {
  std::vector<double> step_ms;
  std::vector<double> computing_ms;
  std::vector<double> communication_ms;
  std::vector<double> free_ms;
};

StepTimes TimesOf(const Side& side, const Steps& steps) {
  StepTimes times;
  const Busy busy = BusyOf(side);
  for (const Window& window : steps.windows) {
    times.step_ms.push_back(Ms(window.end_ns - window.begin_ns));
    times.computing_ms.push_back(MsIn(busy.computing, window));
    times.communication_ms.push_back(MsIn(busy.communication, window));
    times.free_ms.push_back(times.step_ms.back() - times.computing_ms.back() -
                            times.communication_ms.back());
  }
  return times;
}

Window WholeTrace(const Side& side) {
  Window all{.begin_ns = side.first_ns, .end_ns = side.last_ns};
  if (side.ops.empty()) return all;
  all.begin_ns = std::min(all.begin_ns, side.ops.front().begin_ns);
  for (const Op& op : side.ops) all.end_ns = std::max(all.end_ns, op.end_ns);
  return all;
}

}  // namespace

std::string_view TextOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kChanged:
      return "changed";
    case Verdict::kUnchanged:
      return "unchanged";
    case Verdict::kTooNoisy:
      return "too noisy to decide";
    case Verdict::kOneStep:
      return "one step: no verdict";
  }
  return "";
}

std::string_view TextOf(CauseKind kind) { return kind == CauseKind::kWork ? "work" : "time"; }

Steps StepsOf(const Side& side) {
  if (side.window.step_id != kNone) return {.windows = {side.window}};
  if (side.steps.empty()) return {.windows = {WholeTrace(side)}};
  std::vector<recipes::StepLength> lengths;
  for (const Window& step : side.steps) {
    lengths.push_back({step.end_ns - step.begin_ns, step.is_unfinished});
  }
  const recipes::CountedSteps counted = recipes::CountSteps(lengths);
  Steps steps{.windows = {},
              .warm_up = counted.warm_up,
              .unfinished = counted.unfinished,
              .fragments = counted.fragments};
  for (size_t i = 0; i < side.steps.size(); ++i) {
    if (counted.Has(i)) steps.windows.push_back(side.steps[i]);
  }
  return steps;
}

Stage JudgeStage(std::string_view name, const std::vector<double>& base_ms,
                 const std::vector<double>& comparison_ms, double alpha) {
  Stage stage;
  stage.name = name;
  stage.base = SpreadOf(base_ms);
  stage.comparison = SpreadOf(comparison_ms);
  stage.diff_ms = stage.comparison.mean_ms - stage.base.mean_ms;
  const Gap gap = GapOf(stage.base, stage.comparison, alpha);
  if (!gap.is_known) return stage;
  stage.low_ms = gap.low;
  stage.high_ms = gap.high;
  const double relevant_ms = kRelevant * stage.base.mean_ms;
  const bool is_within = stage.low_ms >= -relevant_ms && stage.high_ms <= relevant_ms;
  stage.verdict = is_within             ? Verdict::kUnchanged
                  : gap.LeavesOutZero() ? Verdict::kChanged
                                        : Verdict::kTooNoisy;
  return stage;
}

Judgement Judge(const Side& base, const Side& comparison) {
  return Judge(base, comparison, MakeModuleTrees(base, comparison));
}

Judgement Judge(const Side& base, const Side& comparison, const BothTrees& trees) {
  Judgement judgement;
  judgement.has_steps = !base.steps.empty() && !comparison.steps.empty();
  const Steps base_steps = StepsOf(base);
  const Steps comparison_steps = StepsOf(comparison);
  const StepTimes a = TimesOf(base, base_steps);
  const StepTimes b = TimesOf(comparison, comparison_steps);
  judgement.stages = {JudgeStage("step", a.step_ms, b.step_ms),
                      JudgeStage("computing", a.computing_ms, b.computing_ms),
                      JudgeStage("communication", a.communication_ms, b.communication_ms),
                      JudgeStage("free", a.free_ms, b.free_ms)};
  const Works works =
      MakeWorks(base, base_steps.windows, comparison, comparison_steps.windows, trees);
  const bool is_host = judgement.is_host =
      base.kind == SideKind::kCpu && comparison.kind == SideKind::kCpu;
  judgement.causes = FindCauses(works, is_host, a.communication_ms, b.communication_ms);
  judgement.requests = CompareRequests(base, comparison);
  judgement.memory = ComparePeaks(base, comparison);
  judgement.calls = CompareCalls(base, base_steps.windows, comparison, comparison_steps.windows);
  judgement.tree = MakeTree(works, is_host);
  judgement.aligned_share = AlignedShare(works);
  const Steps* steps[] = {&base_steps, &comparison_steps};
  for (size_t side = 0; side < std::size(steps); ++side) {
    judgement.warm_up[side] = steps[side]->warm_up;
    judgement.unfinished[side] = steps[side]->unfinished;
    judgement.fragments[side] = steps[side]->fragments;
  }
  return judgement;
}

}  // namespace sonde::compare
