#include "compare/verdict/verdict.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <set>
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

// Of the device of that name, or of the only one; where the rows know none, what lies in the step:
// then all that is left is free.
DeviceTimes DeviceTimesOf(const Busy& busy, const Window& window, const std::string& device) {
  const auto named = device.empty() ? window.devices.begin() : window.devices.find(device);
  if (named != window.devices.end()) return named->second;
  DeviceTimes times;
  if (!device.empty()) return times;
  times.computing_ns = NsIn(busy.computing, window);
  times.communication_ns = NsIn(busy.communication, window);
  times.free_ns = window.OverNs() - window.FromNs() - times.computing_ns - times.communication_ns;
  return times;
}

struct StepTimes {
  std::vector<double> step_ms;
  std::vector<double> program_ms;
  std::vector<double> processor_ms;
  bool knows_processors = true;
};

// Of a device, its steps as those of StepTimes.
struct StagesOfDevice {
  std::vector<double> computing_ms;
  std::vector<double> communication_ms;
  std::vector<double> free_ms;
  std::vector<double> outside_ms;
};

StepTimes TimesOf(const std::vector<Window>& steps) {
  StepTimes times;
  for (const Window& window : steps) {
    times.step_ms.push_back(Ms(window.OverNs() - window.FromNs()));
    times.program_ms.push_back(times.step_ms.back() - Ms(window.unserved_ns));
    times.processor_ms.push_back(Ms(std::max<int64_t>(window.processor_ns, 0)));
    times.knows_processors = times.knows_processors && window.processor_ns >= 0;
  }
  return times;
}

StagesOfDevice StagesOf(const Busy& busy, const std::vector<Window>& steps,
                        const std::string& name) {
  StagesOfDevice stages;
  for (const Window& window : steps) {
    const DeviceTimes device = DeviceTimesOf(busy, window, name);
    const int64_t outside_ns = window.OverNs() - window.FromNs() - device.computing_ns -
                               device.communication_ns - device.free_ns;
    stages.computing_ms.push_back(Ms(device.computing_ns));
    stages.communication_ms.push_back(Ms(device.communication_ns));
    stages.free_ms.push_back(Ms(device.free_ns));
    stages.outside_ms.push_back(Ms(std::max<int64_t>(outside_ns, 0)));
  }
  return stages;
}

void MakeMeansByRun(const std::vector<Window>& windows,
                    std::initializer_list<std::vector<double>*> lists) {
  for (std::vector<double>* list : lists) *list = MeansByRun(*list, windows);
}

std::set<std::string> DevicesIn(const std::vector<Window>& steps) {
  std::set<std::string> names;
  for (const Window& step : steps) {
    for (const auto& [name, times] : step.devices) names.insert(name);
  }
  return names;
}

// What all devices communicate alone: the parts of causes are sums over devices, too.
void AddTo(std::vector<double>& sums, const std::vector<double>& values) {
  sums.resize(values.size());
  for (size_t i = 0; i < values.size(); ++i) sums[i] += values[i];
}

// The stages of each device that both sides have, by name; of one device on each side, whatever
// its number. What only one side has is named.
class DeviceStages {
 public:
  DeviceStages(const Side& base, const Steps& base_steps, const Side& comparison,
               const Steps& comparison_steps)
      : sides_{&base, &comparison}, steps_{&base_steps.windows, &comparison_steps.windows} {}

  void Judge(Judgement& judgement) {
    const Busy busy[] = {BusyOf(*sides_[0]), BusyOf(*sides_[1])};
    for (const std::string& name : Names(judgement)) {
      StagesOfDevice of[] = {StagesOf(busy[0], *steps_[0], name),
                             StagesOf(busy[1], *steps_[1], name)};
      for (size_t i = 0; i < std::size(of); ++i) {
        if (judgement.AreRunsSamples()) {
          MakeMeansByRun(*steps_[i], {&of[i].computing_ms, &of[i].communication_ms, &of[i].free_ms,
                                      &of[i].outside_ms});
        }
        AddTo(communication_ms_[i], of[i].communication_ms);
      }
      const auto add = [&](std::string_view stage, std::vector<double> StagesOfDevice::* times) {
        judgement.stages.push_back(JudgeStage(stage, of[0].*times, of[1].*times));
        judgement.stages.back().device = name;
      };
      add("computing", &StagesOfDevice::computing_ms);
      add("communication", &StagesOfDevice::communication_ms);
      add("free", &StagesOfDevice::free_ms);
      add("outside", &StagesOfDevice::outside_ms);
    }
  }

  const std::vector<double>& communication_ms(size_t side) const { return communication_ms_[side]; }

 private:
  std::vector<std::string> Names(Judgement& judgement) const {
    const std::set<std::string> names[] = {DevicesIn(*steps_[0]), DevicesIn(*steps_[1])};
    if (names[0].size() <= 1 && names[1].size() <= 1) return {""};
    std::vector<std::string> both;
    std::ranges::set_intersection(names[0], names[1], std::back_inserter(both));
    for (size_t i = 0; i < std::size(names); ++i) {
      std::ranges::set_difference(names[i], names[1 - i],
                                  std::back_inserter(judgement.lone_devices[i]));
    }
    return both;
  }

  const Side* sides_[2];
  const std::vector<Window>* steps_[2];
  std::vector<double> communication_ms_[2];
};

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
  Window all{.begin_ns = side.first_ns, .end_ns = side.last_ns, .devices = side.devices};
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
  StepTimes a = TimesOf(base_steps.windows);
  StepTimes b = TimesOf(comparison_steps.windows);
  if (judgement.AreRunsSamples()) {
    MakeMeansByRun(base_steps.windows, {&a.step_ms, &a.program_ms, &a.processor_ms});
    MakeMeansByRun(comparison_steps.windows, {&b.step_ms, &b.program_ms, &b.processor_ms});
  }
  judgement.stages = {JudgeStage("step", a.step_ms, b.step_ms)};
  DeviceStages devices(base, base_steps, comparison, comparison_steps);
  devices.Judge(judgement);
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
  judgement.causes =
      FindCauses(works, is_host, devices.communication_ms(0), devices.communication_ms(1));
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
