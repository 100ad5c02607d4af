#include "compare/verdict/verdict.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/strings.h"

namespace sonde::compare {
namespace {

using recipes::Interval;

Spread SpreadOf(const std::vector<double>& values) {
  Spread spread;
  spread.steps = static_cast<int64_t>(values.size());
  if (values.empty()) return spread;
  for (const double value : values) spread.mean_ms += value / static_cast<double>(values.size());
  if (values.size() < 2) return spread;
  for (const double value : values) {
    const double off = value - spread.mean_ms;
    spread.variance += off * off / static_cast<double>(values.size() - 1);
  }
  return spread;
}

// Student's t for 99 %, both sides, by degrees of freedom; between them that of fewer, which is
// more.
double CriticalT(double freedom) {
  struct Entry {
    double freedom;
    double t;
  };
  constexpr std::array kTable = {
      Entry{1, 63.66},  Entry{2, 9.925},  Entry{3, 5.841},  Entry{4, 4.604},
      Entry{5, 4.032},  Entry{6, 3.707},  Entry{7, 3.499},  Entry{8, 3.355},
      Entry{9, 3.250},  Entry{10, 3.169}, Entry{12, 3.055}, Entry{15, 2.947},
      Entry{20, 2.845}, Entry{30, 2.750}, Entry{60, 2.660}, Entry{120, 2.617}};
  double t = kTable.front().t;
  for (const Entry& entry : kTable) {
    if (entry.freedom <= freedom) t = entry.t;
  }
  return t;
}

double FreedomOf(const Spread& a, const Spread& b) {
  const double x = a.variance / static_cast<double>(a.steps);
  const double y = b.variance / static_cast<double>(b.steps);
  const double below =
      x * x / static_cast<double>(a.steps - 1) + y * y / static_cast<double>(b.steps - 1);
  return below > 0 ? (x + y) * (x + y) / below : static_cast<double>(a.steps + b.steps - 2);
}

double MsIn(const std::vector<Interval>& intervals, const Window& window) {
  int64_t sum_ns = 0;
  for (const Interval& one : intervals) {
    const int64_t begin = std::max(one.start_ns, window.begin_ns);
    const int64_t end = std::min(one.end_ns, window.end_ns);
    if (end > begin) sum_ns += end - begin;
  }
  return Ms(sum_ns);
}

struct StepTimes {
  std::vector<double> step_ms;
  std::vector<double> computing_ms;
  std::vector<double> communication_ms;
  std::vector<double> free_ms;
};

StepTimes TimesOf(const Side& side) {
  StepTimes times;
  for (const Window& window : WindowsOf(side)) {
    times.step_ms.push_back(Ms(window.end_ns - window.begin_ns));
    times.computing_ms.push_back(MsIn(side.overlap.computing, window));
    times.communication_ms.push_back(MsIn(side.overlap.not_overlapped, window));
    times.free_ms.push_back(times.step_ms.back() - times.computing_ms.back() -
                            times.communication_ms.back());
  }
  return times;
}

}  // namespace

std::string_view TextOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kChanged:
      return "changed";
    case Verdict::kUnchanged:
      return "unchanged";
    case Verdict::kTooNoisy:
      return "too noisy to tell";
    case Verdict::kOneStep:
      return "one step: no verdict";
  }
  return "";
}

std::vector<Window> WindowsOf(const Side& side) {
  if (side.window.step_id != kNone) return {side.window};
  if (!side.steps.empty()) return side.steps;
  Window all;
  all.begin_ns = side.first_ns;
  all.end_ns = side.last_ns;
  if (!side.ops.empty()) {
    all.begin_ns = std::min(all.begin_ns, side.ops.front().begin_ns);
    for (const Op& op : side.ops) all.end_ns = std::max(all.end_ns, op.end_ns);
  }
  return {all};
}

Stage JudgeStage(std::string_view name, const std::vector<double>& base_ms,
                 const std::vector<double>& comparison_ms) {
  Stage stage;
  stage.name = name;
  stage.base = SpreadOf(base_ms);
  stage.comparison = SpreadOf(comparison_ms);
  stage.diff_ms = stage.comparison.mean_ms - stage.base.mean_ms;
  if (stage.base.steps < 2 || stage.comparison.steps < 2) return stage;
  const double error =
      std::sqrt(stage.base.variance / static_cast<double>(stage.base.steps) +
                stage.comparison.variance / static_cast<double>(stage.comparison.steps));
  const double reach = CriticalT(FreedomOf(stage.base, stage.comparison)) * error;
  stage.low_ms = stage.diff_ms - reach;
  stage.high_ms = stage.diff_ms + reach;
  const double relevant_ms = kRelevant * stage.base.mean_ms;
  const bool is_within = stage.low_ms >= -relevant_ms && stage.high_ms <= relevant_ms;
  const bool has_zero = stage.low_ms <= 0 && stage.high_ms >= 0;
  stage.verdict = is_within  ? Verdict::kUnchanged
                  : has_zero ? Verdict::kTooNoisy
                             : Verdict::kChanged;
  return stage;
}

Judgement Judge(const Side& base, const Side& comparison) {
  Judgement judgement;
  judgement.has_steps = !base.steps.empty() && !comparison.steps.empty();
  const StepTimes a = TimesOf(base);
  const StepTimes b = TimesOf(comparison);
  judgement.stages = {JudgeStage("step", a.step_ms, b.step_ms),
                      JudgeStage("computing", a.computing_ms, b.computing_ms),
                      JudgeStage("communication", a.communication_ms, b.communication_ms),
                      JudgeStage("free", a.free_ms, b.free_ms)};
  judgement.causes = FindCauses(base, comparison, judgement.aligned_share);
  const auto add = [&](const Stage& stage, std::string kind) {
    judgement.causes.push_back({std::move(kind), "", stage.base.mean_ms, stage.comparison.mean_ms});
  };
  constexpr size_t kCommunication = 2;
  constexpr size_t kFree = 3;
  add(judgement.stages[kCommunication], "communication that nothing hides");
  add(judgement.stages[kFree], "the device is idle (host gaps)");
  constexpr double kNothing = 1e-6;
  std::erase_if(judgement.causes,
                [](const Cause& cause) { return std::abs(cause.DiffMs()) < kNothing; });
  std::stable_sort(
      judgement.causes.begin(), judgement.causes.end(),
      [](const Cause& x, const Cause& y) { return std::abs(x.DiffMs()) > std::abs(y.DiffMs()); });
  return judgement;
}

}  // namespace sonde::compare
