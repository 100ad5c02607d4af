#include <algorithm>
#include <cmath>

#include "base/host/fixed.h"
#include "base/shortened.h"
#include "base/strings.h"
#include "compare/verdict/verdict.h"
#include "recipes/finding/finding.h"

namespace sonde::compare {
namespace {

using base::Concat;
using base::Fixed;

std::string Signed(double value, int digits) {
  return Concat(value < 0 ? "" : "+", Fixed(value, digits));
}

// The first causes that are more than noise; those of one step, which cannot be judged, count.
std::string ListOf(const Judgement& judgement, bool only_work, recipes::Language language) {
  const bool is_chinese = language == recipes::Language::kChinese;
  constexpr size_t kShown = 3;
  std::vector<std::string> causes;
  for (const Cause& cause : judgement.causes) {
    if (causes.size() == kShown || cause.verdict == Verdict::kTooNoisy) break;
    if (only_work && KindOf(cause.cause) != CauseKind::kWork) continue;
    std::string text = Concat(base::Shortened(cause.subject), cause.subject.empty() ? "" : ": ",
                              TextOf(cause.cause, language), " ", Signed(cause.DiffMs(), 3), " ms");
    if (!cause.module.empty()) {
      const std::string module = base::Shortened(cause.module);
      text += is_chinese ? Concat("（模块 ", module, "）") : Concat(" in ", module);
    }
    causes.push_back(std::move(text));
  }
  return base::Join(causes, is_chinese ? "；" : "; ");
}

// With another batch a step and a token are other work, which nobody should take for a faster one.
std::string DescribeBatch(const Judgement& judgement, recipes::Language language) {
  constexpr double kOther = 0.2;  // of the base's
  for (const RequestMeasure& one : judgement.requests) {
    if (one.measure != "batch" || one.verdict != Verdict::kChanged) continue;
    if (std::abs(one.Diff()) < kOther * one.mean[0]) continue;
    return recipes::FilledText("compare.batch", {Fixed(one.mean[1], 1), Fixed(one.mean[0], 1)},
                               language) +
           "\n";
  }
  return {};
}

// The parts that explain most of a change of P99.
std::string DescribeTail(const Judgement& judgement, recipes::Language language) {
  constexpr double kLeastShare = 0.1;  // of the change
  constexpr size_t kShown = 3;
  const TailChange& tail = judgement.tail;
  if (!tail.is_change) return {};
  const double diff_ms = tail.p99_ms[1] - tail.p99_ms[0];
  std::vector<std::string> parts;
  for (const auto& [key, ms] : tail.parts_ms) {
    if (parts.size() == kShown || ms / diff_ms < kLeastShare) break;
    parts.push_back(Concat(recipes::FilledText(Concat("request_part.", key), {}, language), " ",
                           Signed(ms, 1), " ms"));
  }
  const bool is_chinese = language == recipes::Language::kChinese;
  return recipes::FilledText("compare.tail",
                             {Fixed(tail.p99_ms[1], 1), Fixed(tail.p99_ms[0], 1),
                              base::Join(parts, is_chinese ? "；" : "; ")},
                             language) +
         "\n";
}

// Of a server they come first: they are what its users wait for.
std::string DescribeRequests(const Judgement& judgement, recipes::Language language) {
  if (judgement.requests.empty()) return {};
  std::string text = DescribeTail(judgement, language);
  bool is_same = text.empty();
  text += DescribeBatch(judgement, language);
  for (const RequestMeasure& one : judgement.requests) {
    if (one.verdict != Verdict::kChanged) continue;
    is_same = false;
    const double percent = one.mean[0] > 0 ? 100 * one.Diff() / one.mean[0] : 0;
    text += recipes::FilledText("compare.request",
                                {std::string(one.measure), Fixed(one.mean[1], 3),
                                 std::string(one.unit), Fixed(one.mean[0], 3), Signed(percent, 1),
                                 std::to_string(one.count[1]), std::to_string(one.count[0])},
                                language) +
            "\n";
  }
  if (is_same) text += recipes::FilledText("compare.requests_same", {}, language) + "\n";
  return text;
}

// The call of which the host does most more or less; where its calls are operators, they are
// causes.
std::string DescribeCalls(const Judgement& judgement, recipes::Language language) {
  constexpr double kLeastShare = 0.01;  // of a step: less is not worth a sentence
  for (const HostCalls& one : judgement.calls) {
    if (std::abs(one.DiffMs()) <= kLeastShare * judgement.stages.front().base.mean_ms) break;
    if (one.verdict != Verdict::kChanged) continue;
    return recipes::FilledText("compare.call",
                               {base::Shortened(one.name), Fixed(one.ms[1], 3), Fixed(one.ms[0], 3),
                                Fixed(one.calls[1], 1), Fixed(one.calls[0], 1)},
                               language) +
           "\n";
  }
  return {};
}

// Where a device works as long as before, the change of a step is its waiting for the host.
std::string DescribeWaiting(const Judgement& judgement, const Stage& computing,
                            recipes::Language language) {
  constexpr double kMost = 0.8;  // of the difference of the step
  double idle_ms[2] = {};        // of base and comparison
  for (const Stage& stage : judgement.stages) {
    const bool is_idle = stage.name == "free" || stage.name == "outside";
    if (!is_idle || stage.device != computing.device) continue;
    idle_ms[0] += stage.base.mean_ms;
    idle_ms[1] += stage.comparison.mean_ms;
  }
  const Stage& step = judgement.stages.front();
  if (step.verdict != Verdict::kChanged) return {};
  const bool is_same = std::abs(computing.diff_ms) <= kRelevant * computing.base.mean_ms;
  if (!is_same || (idle_ms[1] - idle_ms[0]) / step.diff_ms < kMost) return {};
  return recipes::FilledText(
      "compare.waiting",
      {Fixed(computing.comparison.mean_ms, 3), Fixed(idle_ms[1], 3), Fixed(idle_ms[0], 3)},
      language);
}

// Each device by itself, of several by its number.
std::string DescribeDevices(const Judgement& judgement, recipes::Language language) {
  if (judgement.is_host) return {};
  std::string text;
  for (const Stage& stage : judgement.stages) {
    if (stage.name != "computing") continue;
    std::string sentence = DescribeWaiting(judgement, stage, language);
    if (stage.device.empty()) return sentence.empty() ? sentence : sentence + "\n";
    if (sentence.empty() && stage.verdict == Verdict::kChanged) {
      sentence = recipes::FilledText("compare.computing",
                                     {Fixed(stage.comparison.mean_ms, 3),
                                      Fixed(stage.base.mean_ms, 3), Signed(stage.DiffPercent(), 1)},
                                     language);
    }
    if (sentence.empty()) continue;
    text += recipes::FilledText("compare.device", {stage.device, sentence}, language) + "\n";
  }
  return text;
}

// What of the difference is the machine's: waiting for a processor that other programs had.
std::string DescribeMachine(const Judgement& judgement, recipes::Language language) {
  if (!judgement.knows_processors) return {};
  const Stage& step = judgement.stages.front();
  const Stage& program = judgement.stages.back();
  const double diff_ms = judgement.unserved_ms[1] - judgement.unserved_ms[0];
  if (std::abs(diff_ms) <= kRelevant * step.base.mean_ms) return {};
  const std::string verdict = program.verdict == Verdict::kChanged     ? "@compare.is_changed"
                              : program.verdict == Verdict::kUnchanged ? "@compare.is_unchanged"
                                                                       : "@compare.is_unknown";
  return recipes::FilledText(
             "compare.machine",
             {Signed(diff_ms, 3), Fixed(judgement.unserved_ms[1], 3),
              Fixed(judgement.unserved_ms[0], 3), Fixed(program.comparison.mean_ms, 3),
              Fixed(program.base.mean_ms, 3), Signed(program.DiffPercent(), 1), verdict},
             language) +
         "\n";
}

// What one run a side cannot show.
std::string DescribeRuns(const Judgement& judgement, recipes::Language language) {
  const Stage& step = judgement.stages.front();
  const bool is_open = step.verdict == Verdict::kChanged || step.verdict == Verdict::kTooNoisy;
  if (judgement.AreRunsSamples() || !is_open || !judgement.has_steps) return {};
  std::string text = recipes::FilledText("compare.one_run", {}, language) + "\n";
  if (!judgement.knows_processors) return text;
  const double base_ms = judgement.processor_ms[0];
  const double diff_ms = judgement.processor_ms[1] - base_ms;
  return text +
         recipes::FilledText("compare.processor",
                             {Fixed(judgement.processor_ms[1], 3), Fixed(base_ms, 3),
                              Signed(base_ms > 0 ? 100 * diff_ms / base_ms : 0, 1)},
                             language) +
         "\n";
}

std::string DescribeMemory(const Judgement& judgement, recipes::Language language) {
  constexpr double kLeastShare = 0.01;  // of the base: less is not worth a sentence
  if (judgement.memory.size() < 2) return {};
  const AliveAtPeak& all = judgement.memory.front();
  const auto base = static_cast<double>(all.bytes[0]);
  const auto diff = static_cast<double>(all.DiffBytes());
  if (std::abs(diff) <= kLeastShare * base) return {};
  const AliveAtPeak& most = judgement.memory[1];
  constexpr double kMiB = 1 << 20U;
  return recipes::FilledText(
             "compare.memory",
             {Fixed(static_cast<double>(all.bytes[1]) / kMiB, 1), Fixed(base / kMiB, 1),
              base > 0 ? Signed(100 * diff / base, 1) : "", base::Shortened(most.owner),
              Signed(static_cast<double>(most.DiffBytes()) / kMiB, 1)},
             language) +
         "\n";
}

}  // namespace

std::string SentencesOf(const Judgement& judgement, recipes::Language language) {
  const auto sentence = [language](std::string_view key,
                                   const std::vector<std::string>& arguments) {
    return Concat(recipes::FilledText(key, arguments, language), "\n");
  };
  const Stage& step = judgement.stages.front();
  const std::string key = step.verdict == Verdict::kChanged     ? "compare.changed"
                          : step.verdict == Verdict::kUnchanged ? "compare.unchanged"
                          : step.verdict == Verdict::kTooNoisy  ? "compare.too_noisy"
                                                                : "compare.one_step";
  const bool are_runs = judgement.AreRunsSamples() && step.verdict != Verdict::kOneStep;
  std::string text = DescribeRequests(judgement, language);
  text += sentence(are_runs ? Concat(key, "_runs") : key,
                   {Fixed(step.comparison.mean_ms, 3), Fixed(step.base.mean_ms, 3),
                    Signed(step.DiffPercent(), 1), std::to_string(step.comparison.steps),
                    std::to_string(step.base.steps), Fixed(step.rank_tail, 3)});
  text += DescribeMachine(judgement, language);
  text += DescribeDevices(judgement, language);
  const std::string work = ListOf(judgement, true, language);
  const std::string all = ListOf(judgement, false, language);
  if (!work.empty()) text += sentence("compare.work", {work});
  if (step.verdict != Verdict::kUnchanged && !all.empty() && all != work) {
    text += sentence("compare.causes", {all});
  }
  if (judgement.aligned_share > 0) {
    text += sentence("compare.aligned", {Fixed(100 * judgement.aligned_share, 1)});
  }
  return text + DescribeCalls(judgement, language) + DescribeMemory(judgement, language) +
         DescribeRuns(judgement, language);
}

Result<FailCondition> ParseFailCondition(const std::string& text) {
  FailCondition condition;
  const Status wrong = base::InvalidArgumentError(
      Concat("--fail-if is STAGE > LIMIT, as 'step > 3%' or 'computing > 1.5ms' (stages: step, "
             "computing, communication, free, outside, program; machine: all work alike), not '",
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
                        condition.stage == "communication" || condition.stage == "free" ||
                        condition.stage == "outside" || condition.stage == "program" ||
                        condition.stage == "machine";
  if (!number || !std::isfinite(*number) || *number < 0 || !is_known) return wrong;
  condition.limit = *number;
  return condition;
}

namespace {

// Without a cause of that kind: null.
const Cause* MachineOf(const Judgement& judgement) {
  const auto found =
      std::find_if(judgement.causes.begin(), judgement.causes.end(),
                   [](const Cause& cause) { return cause.cause == CauseWord::kMachine; });
  return found == judgement.causes.end() ? nullptr : &*found;
}

// How much longer the machine makes a stage: where the host is the device all of it, else
// computing.
double MachineMs(const Judgement& judgement, const Stage& stage) {
  const Cause* machine = MachineOf(judgement);
  if (machine == nullptr || machine->DiffMs() <= 0 || machine->base_ms <= 0) return 0;
  const double share = machine->DiffMs() / machine->base_ms;
  if (judgement.is_host || stage.name == "computing") return share * stage.base.mean_ms;
  if (stage.name != "step") return 0;
  double longest_ms = 0;  // of the devices, which compute at the same time
  for (const Stage& one : judgement.stages) {
    if (one.name == "computing") longest_ms = std::max(longest_ms, one.base.mean_ms);
  }
  return share * longest_ms;
}

double LimitMs(const FailCondition& condition, double base_ms) {
  return condition.is_percent ? condition.limit / 100 * base_ms : condition.limit;
}

// How much longer a stage takes at least, in the program: without what the machine adds. Of one run
// a side nobody knows how much two runs differ, so that both parts of the machine are left out; the
// interval of several runs has their differences.
double ProgramLowMs(const Judgement& judgement, const Stage& stage) {
  const double alike_ms = MachineMs(judgement, stage);
  double unserved_ms = 0;
  if (judgement.knows_processors && stage.name != "program") {
    const Stage& program = judgement.stages.back();
    unserved_ms = stage.name == "step" ? stage.low_ms - program.low_ms
                                       : judgement.unserved_ms[1] - judgement.unserved_ms[0];
    unserved_ms = std::max(unserved_ms, 0.0);
  }
  return judgement.AreRunsSamples() ? stage.low_ms - std::max(alike_ms, unserved_ms)
                                    : stage.low_ms - alike_ms - unserved_ms;
}

// What the causes that are no matter of the machine add to a step.
double NamedMs(const Judgement& judgement) {
  double sum_ms = 0;
  for (const Cause& cause : judgement.causes) {
    if (cause.verdict == Verdict::kChanged && cause.cause != CauseWord::kMachine)
      sum_ms += cause.DiffMs();
  }
  return sum_ms;
}

FailCheck CheckMachine(const FailCondition& condition, const Judgement& judgement) {
  const Cause* machine = MachineOf(judgement);
  if (machine == nullptr) return {};
  const double limit_ms = LimitMs(condition, machine->base_ms);
  if (machine->DiffMs() <= limit_ms) return {};
  return {.failed = Concat("all work takes ", Signed(machine->DiffMs(), 3), " ms a step (",
                           Signed(100 * machine->DiffMs() / machine->base_ms, 1),
                           " %): more than the limit of ", Fixed(limit_ms, 3), " ms"),
          .spared = {}};
}

FailCheck CheckStage(const FailCondition& condition, const Judgement& judgement,
                     const Stage& stage) {
  const double limit_ms = LimitMs(condition, stage.base.mean_ms);
  if (stage.low_ms <= limit_ms || stage.verdict == Verdict::kTooNoisy) return {};
  const std::string takes = Concat("the stage ", NameOf(stage), " takes ", Signed(stage.diff_ms, 3),
                                   " ms a step (", Signed(stage.DiffPercent(), 1), " %)");
  const double low_ms = ProgramLowMs(judgement, stage);
  if (low_ms <= limit_ms) {
    return {.failed = {},
            .spared = Concat(takes, ", ", Signed(stage.low_ms - low_ms, 3),
                             " ms of it because all work takes longer or waits for a processor "
                             "(clock or load of the machine), not because the program changed: "
                             "--fail-if 'machine > ",
                             Fixed(condition.limit, 1), condition.is_percent ? "%" : "ms",
                             "' fails on that")};
  }
  // One run that is slower as a whole names nothing, or too little.
  if (judgement.knows_processors && !judgement.AreRunsSamples() && NamedMs(judgement) <= limit_ms) {
    return {.failed = {},
            .spared = Concat(takes, ", but what the program does otherwise or longer adds ",
                             Signed(NamedMs(judgement), 3),
                             " ms beyond noise: runs of one program differ by more on a busy "
                             "machine, name several runs a side")};
  }
  return {.failed = Concat(takes, ", at least ", Signed(low_ms, 3),
                           " ms of it in the program and beyond noise: more than the limit of ",
                           Fixed(limit_ms, 3), " ms"),
          .spared = {}};
}

}  // namespace

std::string NameOf(const Stage& stage) {
  return stage.device.empty() ? std::string(stage.name)
                              : Concat(stage.name, " of device ", stage.device);
}

Result<FailCheck> CheckFail(const FailCondition& condition, const Judgement& judgement) {
  const Stage& step = judgement.stages.front();
  if (step.verdict == Verdict::kOneStep) {
    return base::FailedPreconditionError(Concat(
        "--fail-if needs two steps or more on each side to distinguish a change from noise: there ",
        "are ", std::to_string(step.comparison.steps), " and ", std::to_string(step.base.steps)));
  }
  if (condition.stage == "machine") return CheckMachine(condition, judgement);
  bool is_known = false;
  FailCheck check;
  for (const Stage& stage : judgement.stages) {
    if (stage.name != condition.stage) continue;
    is_known = true;
    FailCheck of_stage = CheckStage(condition, judgement, stage);
    if (!of_stage.failed.empty()) return of_stage;
    if (check.spared.empty()) check = std::move(of_stage);
  }
  if (is_known || condition.stage != "program") return check;
  return base::FailedPreconditionError(
      "--fail-if 'program > ...' needs the use of processors on both sides, which Sonde records");
}

}  // namespace sonde::compare
