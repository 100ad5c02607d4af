// Whether the comparison side is slower, and by what: the stages of a step with a spread over the
// steps of each side, and the causes of the difference of a step.
//
// Test: Welch's, of the means over the steps, with an interval of 99 %. A stage has changed where
// the interval leaves out zero and reaches beyond kRelevant of the base; it is unchanged where the
// whole interval lies within; else it is too noisy to tell. With one step on a side there is no
// spread, and no verdict.
// Units: milliseconds a step. Pure, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "compare/frame/sheet.h"
#include "compare/frame/side.h"

namespace sonde::compare {

inline constexpr double kRelevant = 0.02;  // of the base: smaller changes are none

enum class Verdict : uint8_t { kChanged, kUnchanged, kTooNoisy, kOneStep };
std::string_view TextOf(Verdict verdict);

struct Spread {
  double mean_ms = 0;
  double variance = 0;  // of the sample
  int64_t steps = 0;
};

struct Stage {
  std::string_view name;  // step, computing, communication, free
  Spread base;
  Spread comparison;
  double diff_ms = 0;
  double low_ms = 0;  // of the interval of the difference; both 0 without a spread
  double high_ms = 0;
  Verdict verdict = Verdict::kOneStep;
  double DiffPercent() const { return base.mean_ms > 0 ? 100 * diff_ms / base.mean_ms : 0; }
};

struct Cause {
  std::string kind;     // appeared, vanished, other kernel, other shapes, ...
  std::string subject;  // operator, with its kernel where that tells more
  double base_ms = 0;
  double comparison_ms = 0;
  double DiffMs() const { return comparison_ms - base_ms; }
};

struct Judgement {
  std::vector<Stage> stages;
  std::vector<Cause> causes;  // the largest first
  double aligned_share = 0;   // of the device time of both: of operators that both have
  bool has_steps = false;     // else each trace counts as one
};

Judgement Judge(const Side& base, const Side& comparison);

// Parts of Judge.
Stage JudgeStage(std::string_view name, const std::vector<double>& base_ms,
                 const std::vector<double>& comparison_ms);
std::vector<Cause> FindCauses(const Side& base, const Side& comparison, double& aligned_share);
// Steps that count, else the whole trace.
std::vector<Window> WindowsOf(const Side& side);

// Two or three sentences: how much, whether it is more than noise, by what.
std::string SentencesOf(const Judgement& judgement);

Sheet StageSheet(const Judgement& judgement);
Sheet CauseSheet(const Judgement& judgement);

// "computing > 3%", "step > 1.5ms".
struct FailCondition {
  std::string stage;
  double limit = 0;
  bool is_percent = true;
};
Result<FailCondition> ParseFailCondition(const std::string& text);
// A line where the condition holds beyond noise, "" where it does not. kFailedPrecondition where
// one step on a side does not let that be told.
Result<std::string> CheckFail(const FailCondition& condition, const Judgement& judgement);

}  // namespace sonde::compare
