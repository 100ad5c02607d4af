#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/shortened.h"
#include "base/strings.h"
#include "compare/verdict/verdict.h"
#include "recipes/finding/finding.h"

namespace sonde::compare {
namespace {

using base::Concat;

std::string Fixed(double value, int digits) {
  constexpr size_t kLongest = 64;
  char text[kLongest];
  std::snprintf(text, sizeof(text), "%.*f", digits, value);
  return text;
}

std::string Signed(double value, int digits) {
  return Concat(value < 0 ? "" : "+", Fixed(value, digits));
}

// The first causes that are more than noise; those of one step, which nobody can tell, count.
std::string ListOf(const Judgement& judgement, bool only_work) {
  constexpr size_t kShown = 3;
  std::vector<std::string> causes;
  for (const Cause& cause : judgement.causes) {
    if (causes.size() == kShown || cause.verdict == Verdict::kTooNoisy) break;
    if (only_work && cause.kind != CauseKind::kWork) continue;
    causes.push_back(Concat(base::Shortened(cause.subject), cause.subject.empty() ? "" : ": ",
                            cause.cause, " ", Signed(cause.DiffMs(), 3), " ms",
                            cause.module.empty() ? "" : " in ", base::Shortened(cause.module)));
  }
  return base::Join(causes, "; ");
}

}  // namespace

std::string SentencesOf(const Judgement& judgement, recipes::Language language) {
  const auto say = [language](std::string_view key, const std::vector<std::string>& arguments) {
    return Concat(recipes::FilledText(key, arguments, language), "\n");
  };
  const Stage& step = judgement.stages.front();
  const std::string key = step.verdict == Verdict::kChanged     ? "compare.changed"
                          : step.verdict == Verdict::kUnchanged ? "compare.unchanged"
                          : step.verdict == Verdict::kTooNoisy  ? "compare.too_noisy"
                                                                : "compare.one_step";
  std::string text = say(key, {Fixed(step.comparison.mean_ms, 3), Fixed(step.base.mean_ms, 3),
                               Signed(step.DiffPercent(), 1), std::to_string(step.comparison.steps),
                               std::to_string(step.base.steps)});
  const std::string work = ListOf(judgement, true);
  const std::string all = ListOf(judgement, false);
  if (!work.empty()) text += say("compare.work", {work});
  if (step.verdict != Verdict::kUnchanged && !all.empty() && all != work) {
    text += say("compare.causes", {all});
  }
  if (judgement.aligned_share > 0) {
    text += say("compare.aligned", {Fixed(100 * judgement.aligned_share, 1)});
  }
  return text;
}

Result<FailCondition> ParseFailCondition(const std::string& text) {
  FailCondition condition;
  const Status wrong = base::InvalidArgumentError(
      Concat("--fail-if is STAGE > LIMIT, as 'step > 3%' or 'computing > 1.5ms' (stages: step, "
             "computing, communication, free), not '",
             text, "'"));
  const size_t sign = text.find('>');
  if (sign == std::string::npos) return wrong;
  condition.stage = std::string(base::Trim(std::string_view(text).substr(0, sign)));
  std::string_view limit = base::Trim(std::string_view(text).substr(sign + 1));
  condition.is_percent = limit.ends_with('%');
  if (!condition.is_percent && !limit.ends_with("ms")) return wrong;
  limit.remove_suffix(condition.is_percent ? 1 : 2);
  const auto number = base::ParseDouble(base::Trim(limit));
  const bool is_known = condition.stage == "step" || condition.stage == "computing" ||
                        condition.stage == "communication" || condition.stage == "free";
  if (!number || !std::isfinite(*number) || *number < 0 || !is_known) return wrong;
  condition.limit = *number;
  return condition;
}

Result<std::string> CheckFail(const FailCondition& condition, const Judgement& judgement) {
  const auto stage = std::find_if(judgement.stages.begin(), judgement.stages.end(),
                                  [&](const Stage& one) { return one.name == condition.stage; });
  if (stage->verdict == Verdict::kOneStep) {
    return base::FailedPreconditionError(
        Concat("--fail-if needs two steps or more on each side to tell a change from noise: there ",
               "are ", std::to_string(stage->comparison.steps), " and ",
               std::to_string(stage->base.steps)));
  }
  const double limit_ms =
      condition.is_percent ? condition.limit / 100 * stage->base.mean_ms : condition.limit;
  if (stage->low_ms <= limit_ms) return std::string();
  return Concat("the stage ", stage->name, " takes ", Signed(stage->diff_ms, 3), " ms a step (",
                Signed(stage->DiffPercent(), 1), " %), at least ", Signed(stage->low_ms, 3),
                " ms beyond noise: more than the limit of ", Fixed(limit_ms, 3), " ms");
}

}  // namespace sonde::compare
