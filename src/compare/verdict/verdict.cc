#include "compare/verdict/verdict.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "compare/difference/causes.h"
#include "compare/difference/tree.h"
#include "recipes/trace/counted_steps.h"

namespace sonde::compare {
namespace {

using recipes::Interval;

int64_t NsIn(const std::vector<Interval>& intervals, const Window& window) {
  int64_t sum_ns = 0;
  auto one = std::lower_bound(
      intervals.begin(), intervals.end(), window.FromNs(),
      [](const Interval& interval, int64_t moment) { return interval.end_ns <= moment; });
  for (; one != intervals.end() && one->start_ns < window.OverNs(); ++one) {
    sum_ns += std::min(one->end_ns, window.OverNs()) - std::max(one->start_ns, window.FromNs());
  }
  return sum_ns;
}

// Of the step's devices in the mean; where the rows do not know them, what lies in the step: then
// all that is left is free.
DeviceTimes DeviceTimesOf(const Busy& busy, const Window& window) {
  DeviceTimes times = window.device;
  if (times.devices > 0) {
    times.computing_ns /= times.devices;
    times.communication_ns /= times.devices;
    times.free_ns /= times.devices;
    return times;
  }
  times.computing_ns = NsIn(busy.computing, window);
  times.communication_ns = NsIn(busy.communication, window);
  times.free_ns = window.OverNs() - window.FromNs() - times.computing_ns - times.communication_ns;
  return times;
}

struct StepTimes {
  std::vector<double> step_ms;
  std::vector<double> computing_ms;
  std::vector<double> communication_ms;
  std::vector<double> free_ms;
  std::vector<double> outside_ms;
  std::vector<double> program_ms;
  std::vector<double> processor_ms;
  bool knows_processors = true;
};

StepTimes TimesOf(const Side& side, const Steps& steps) {
  StepTimes times;
  const Busy busy = BusyOf(side);
  for (const Window& window : steps.windows) {
    const int64_t step_ns = window.OverNs() - window.FromNs();
    const DeviceTimes device = DeviceTimesOf(busy, window);
    times.step_ms.push_back(Ms(step_ns));
    times.computing_ms.push_back(Ms(device.computing_ns));
    times.communication_ms.push_back(Ms(device.communication_ns));
    times.free_ms.push_back(Ms(device.free_ns));
    times.outside_ms.push_back(Ms(std::max<int64_t>(
        step_ns - device.computing_ns - device.communication_ns - device.free_ns, 0)));
    times.program_ms.push_back(times.step_ms.back() - Ms(window.unserved_ns));
    times.processor_ms.push_back(Ms(std::max<int64_t>(window.processor_ns, 0)));
    times.knows_processors = times.knows_processors && window.processor_ns >= 0;
  }
  return times;
}

StepTimes ByRun(StepTimes times, const std::vector<Window>& windows) {
  for (auto* list : {&times.step_ms, &times.computing_ms, &times.communication_ms, &times.free_ms,
                     &times.outside_ms, &times.program_ms, &times.processor_ms}) {
    *list = MeansByRun(*list, windows);
  }
  return times;
}

Works ByRun(Works works, const std::vector<Window>& base, const std::vector<Window>& comparison) {
  for (Part& part : works.parts) {
    for (auto* list : {&part.base.ms, &part.base.calls}) *list = MeansByRun(*list, base);
    for (auto* list : {&part.comparison.ms, &part.comparison.calls}) {
      *list = MeansByRun(*list, comparison);
    }
  }
  works.are_runs = true;
  works.base_steps = works.parts.empty() ? 0 : works.parts.front().base.ms.size();
  works.comparison_steps = works.parts.empty() ? 0 : works.parts.front().comparison.ms.size();
  return works;
}

Window WholeTrace(const Side& side) {
  Window all{.begin_ns = side.first_ns, .end_ns = side.last_ns, .device = side.device};
  if (!side.ops.empty()) all.begin_ns = std::min(all.begin_ns, side.ops.front().begin_ns);
  for (const Op& op : side.ops) all.end_ns = std::max(all.end_ns, op.end_ns);
  return all;
}

}  // namespace

Steps StepsOf(const Side& side) {
  if (side.window.step_id != kNone) return {.windows = {side.window}};
  if (side.steps.empty()) return {.windows = {WholeTrace(side)}};
  std::vector<recipes::StepLength> lengths;
  for (const Window& step : side.steps) {
    lengths.push_back({step.OverNs() - step.FromNs(), step.is_unfinished});
  }
  Steps steps;
  for (size_t begin = 0; begin < side.steps.size();) {  // of each run by itself
    size_t end = begin;
    while (end < side.steps.size() && side.steps[end].run == side.steps[begin].run) ++end;
    const recipes::CountedSteps counted =
        recipes::CountSteps(std::span(lengths).subspan(begin, end - begin));
    steps.warm_up += counted.warm_up;
    steps.unfinished += counted.unfinished;
    steps.fragments += counted.fragments;
    for (size_t i = begin; i < end; ++i) {
      if (counted.Has(i - begin)) steps.windows.push_back(side.steps[i]);
    }
    begin = end;
  }
  return steps;
}

std::vector<double> MeansByRun(const std::vector<double>& values,
                               const std::vector<Window>& steps) {
  std::vector<double> means;
  for (size_t begin = 0; begin < steps.size();) {
    size_t end = begin;
    while (end < steps.size() && steps[end].run == steps[begin].run) ++end;
    means.push_back(SpreadOf(std::span(values).subspan(begin, end - begin)).mean_ms);
    begin = end;
  }
  return means;
}

Stage JudgeStage(std::string_view name, const std::vector<double>& base_ms,
                 const std::vector<double>& comparison_ms, double alpha) {
  Stage stage;
  stage.name = name;
  stage.base = SpreadOf(base_ms);
  stage.comparison = SpreadOf(comparison_ms);
  stage.diff_ms = stage.comparison.mean_ms - stage.base.mean_ms;
  Gap gap = GapOf(stage.base, stage.comparison, alpha);
  if (!gap.is_known) return stage;
  stage.rank_tail = RankTail(base_ms, comparison_ms);
  const double relevant_ms = kRelevant * stage.base.mean_ms;
  if (!gap.LeavesOutZero() && stage.rank_tail <= alpha) {
    const Gap by_rank = RankGapOf(base_ms, comparison_ms, alpha);
    // It shows that all have changed; that nothing has, Welch's interval alone shows.
    const bool is_relevant = by_rank.low > relevant_ms || by_rank.high < -relevant_ms;
    if (by_rank.is_known && is_relevant) gap = by_rank;
  }
  stage.low_ms = gap.low;
  stage.high_ms = gap.high;
  // The same times are the same steps, however much they vary.
  const bool is_within =
      base_ms == comparison_ms || (stage.low_ms >= -relevant_ms && stage.high_ms <= relevant_ms);
  const double rank_limit =
      std::max(kRankAlpha, LeastRankTail(base_ms.size(), comparison_ms.size()) * (1 + 1e-9));
  const bool is_changed = gap.LeavesOutZero() && stage.rank_tail <= rank_limit;
  stage.verdict = is_within    ? Verdict::kUnchanged
                  : is_changed ? Verdict::kChanged
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
  judgement.runs[0] = base.runs;
  judgement.runs[1] = comparison.runs;
  StepTimes a = TimesOf(base, base_steps);
  StepTimes b = TimesOf(comparison, comparison_steps);
  if (judgement.AreRunsSamples()) {
    a = ByRun(std::move(a), base_steps.windows);
    b = ByRun(std::move(b), comparison_steps.windows);
  }
  judgement.stages = {JudgeStage("step", a.step_ms, b.step_ms),
                      JudgeStage("computing", a.computing_ms, b.computing_ms),
                      JudgeStage("communication", a.communication_ms, b.communication_ms),
                      JudgeStage("free", a.free_ms, b.free_ms),
                      JudgeStage("outside", a.outside_ms, b.outside_ms)};
  judgement.knows_processors = a.knows_processors && b.knows_processors;
  if (judgement.knows_processors) {
    judgement.stages.push_back(JudgeStage("program", a.program_ms, b.program_ms));
    const StepTimes* sides[] = {&a, &b};
    for (size_t i = 0; i < std::size(sides); ++i) {
      judgement.processor_ms[i] = SpreadOf(sides[i]->processor_ms).mean_ms;
      judgement.unserved_ms[i] =
          SpreadOf(sides[i]->step_ms).mean_ms - SpreadOf(sides[i]->program_ms).mean_ms;
    }
  }
  Works works = MakeWorks(base, base_steps.windows, comparison, comparison_steps.windows, trees);
  if (judgement.AreRunsSamples()) {
    works = ByRun(std::move(works), base_steps.windows, comparison_steps.windows);
  }
  const bool is_host = judgement.is_host =
      base.kind == SideKind::kCpu && comparison.kind == SideKind::kCpu;
  judgement.causes = FindCauses(works, is_host, a.communication_ms, b.communication_ms);
  judgement.requests = CompareRequests(base, comparison);
  judgement.tail = CompareTails(base, comparison);
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
