// Whether the comparison side is slower, and why: the stages of a step with a spread over the
// steps of each side, and the causes of the difference of a step.
//
// Sample: the mean of each run where both sides have several (JoinRuns); else the steps, which are
// not independent: a loaded machine makes all of them slower.
//
// Test: Welch's, of the means over the samples, with an interval of 99 %, and that of their ranks.
// A stage has changed where the interval leaves out zero and reaches beyond kRelevant of the base,
// and the ranks lie apart, too (kRankAlpha, or as far as so few can); or where the ranks do beyond
// 1 %, with the interval by ranks: one sample far off hides nothing. It is unchanged where the
// whole interval lies within; else it is too noisy to decide. With one sample on a side there is no
// spread, and no verdict.
//
// Program and machine: the stage "program" is the step without the time in which other programs
// had the processor, where both sides know that.
//
// Causes are judged together: each by an interval that leaves out 1 % over all of them. What the
// program does (operators, kernels, shapes, types, calls) is judged by its calls, so that it is
// reported however much times vary; the time of what is the same on both sides by its time, which
// has to differ by kRelevantTime of it and kRelevantOfStep of the step. Where the most of what both
// sides have takes another time by one factor, that is one cause (the machine), and the others are
// the remainder, where that is more than the factor's part of them.
// Units: milliseconds a step. Pure, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "compare/frame/sheet.h"
#include "compare/frame/side.h"
#include "compare/modules/module_tree.h"
#include "compare/verdict/spread.h"
#include "compare/verdict/words.h"
#include "recipes/finding/finding.h"

namespace sonde::compare {

inline constexpr double kRelevant = 0.02;  // of the base: smaller changes are none

inline constexpr double kRankAlpha = 0.05;

struct Stage {
  // step, computing, communication, free, outside (before the first and behind the last work of the
  // device), program
  std::string_view name;
  std::string device;  // of several, else ""
  Spread base;
  Spread comparison;
  double diff_ms = 0;
  double low_ms = 0;  // of the interval of the difference; both 0 without a spread
  double high_ms = 0;
  double rank_tail = 1;  // RankTail (spread.h)
  Verdict verdict = Verdict::kOneStep;
  double DiffPercent() const { return base.mean_ms > 0 ? 100 * diff_ms / base.mean_ms : 0; }
};
std::string NameOf(const Stage& stage);  // "computing", "computing of device 1"

inline constexpr double kRelevantTime = 0.05;    // of a cause's base: less is what runs differ by
inline constexpr double kRelevantOfStep = 0.01;  // of a step

struct Cause {
  CauseWord cause = CauseWord::kTime;
  std::string subject;  // operator, with its kernel where that is more specific
  double base_ms = 0;
  double comparison_ms = 0;
  double low_ms = 0;  // of the interval of the difference; both 0 without a spread
  double high_ms = 0;
  std::string module;    // that has half of it or more
  std::string evidence;  // statement whose rows show it, of tables of this comparison
  Verdict verdict = Verdict::kOneStep;
  double DiffMs() const { return comparison_ms - base_ms; }
};

// A node of the difference as a tree; the first is the root, each stands behind the one above it,
// the largest difference first.
struct TreeNode {
  int32_t parent = kNone;
  int32_t depth = 0;
  std::string_view kind;  // step, module, operator, kernel, host
  std::string name;
  std::string path;
  std::string subject;  // of a kernel and of idle time: what Cause::subject names
  double base_ms = 0;
  double comparison_ms = 0;
  double base_calls = 0;
  double comparison_calls = 0;
  Verdict verdict = Verdict::kOneStep;
};

// A time of the requests of two servers, or the size of their batches. Requests of one moment are
// alike: the test is of the means of kBlocks pieces of the recording, in its order.
inline constexpr size_t kBlocks = 20;
inline constexpr size_t kPercentiles = 101;
struct RequestMeasure {
  std::string_view measure;
  std::string_view unit;
  int64_t count[2] = {};  // of base and comparison
  double mean[2] = {};
  std::vector<double> percentiles[2];  // kPercentiles of them: the least, of 1 %, ..., the most
  double low = 0;  // of the interval of the difference of the means; both 0 without a spread
  double high = 0;
  Verdict verdict = Verdict::kOneStep;
  double Diff() const { return mean[1] - mean[0]; }
};
std::vector<RequestMeasure> CompareRequests(const Side& base, const Side& comparison);

// P99 of the time that clients of a server waited, and the parts of the slowest requests (those at
// P99 and beyond) whose differences add up to it.
struct TailChange {
  double p99_ms[2] = {};   // of base and comparison
  bool is_change = false;  // beyond what the requests of a side differ by
  // Keys of recipes/request_time/parts.h and differences of the means, those that explain most
  // first.
  std::vector<std::pair<std::string_view, double>> parts_ms;
};
TailChange CompareTails(const Side& base, const Side& comparison);

// Memory that was alive at the peak, by the operator that allocated it; the first is
// all of it, the others follow by their difference.
struct AliveAtPeak {
  std::string owner;  // "" all
  int64_t bytes[2] = {};
  int64_t blocks[2] = {};
  int64_t DiffBytes() const { return bytes[1] - bytes[0]; }
};
std::vector<AliveAtPeak> ComparePeaks(const Side& base, const Side& comparison);

// Calls of the host that are no operators, by name: what it asked of the device (launches, copies,
// waits) and collections of garbage. The time of all names is judged together, as that of causes
// is.
inline constexpr double kCallsAlpha = 0.01;
struct HostCalls {
  std::string name;      // a copy: the sides go
  double calls[2] = {};  // a step, of base and comparison
  double ms[2] = {};
  double low_ms = 0;  // of the interval of the difference; both 0 without a spread
  double high_ms = 0;
  Verdict verdict = Verdict::kOneStep;
  double DiffMs() const { return ms[1] - ms[0]; }
};
// The largest difference first.
std::vector<HostCalls> CompareCalls(const Side& base, const std::vector<Window>& base_steps,
                                    const Side& comparison,
                                    const std::vector<Window>& comparison_steps);

struct Judgement {
  std::vector<RequestMeasure> requests;  // of both sides
  std::vector<AliveAtPeak> memory;       // none where a side has no allocations
  std::vector<HostCalls> calls;
  std::vector<Stage> stages;
  std::vector<Cause> causes;  // beyond noise first, the largest first
  std::vector<TreeNode> tree;
  double aligned_share = 0;  // of the device time of both: of operators that both have
  TailChange tail;
  bool is_host = false;     // the host is the device on both sides
  bool has_steps = false;   // else each trace counts as one
  int64_t warm_up[2] = {};  // steps that do not count, of base and comparison
  int64_t unfinished[2] = {};
  int64_t fragments[2] = {};
  int64_t runs[2] = {1, 1};
  std::vector<std::string> lone_devices[2];  // that the other side lacks
  bool knows_processors = false;             // the last stage is "program"
  double processor_ms[2] = {};               // of the step's thread, a step
  double unserved_ms[2] = {};                // other programs had the processor, a step
  bool AreRunsSamples() const { return runs[0] > 1 && runs[1] > 1; }
};

Judgement Judge(const Side& base, const Side& comparison);
// Where the calls of their modules are known.
Judgement Judge(const Side& base, const Side& comparison, const BothTrees& trees);

// Parts of Judge.
// `alpha`: what the interval leaves out.
inline constexpr double kStageAlpha = 0.01;
Stage JudgeStage(std::string_view name, const std::vector<double>& base_ms,
                 const std::vector<double>& comparison_ms, double alpha = kStageAlpha);
// The steps that count (recipes/trace/counted_steps.h), else the whole trace.
struct Steps {
  std::vector<Window> windows;
  int64_t warm_up = 0;
  int64_t unfinished = 0;
  int64_t fragments = 0;
};
Steps StepsOf(const Side& side);
// The means over the steps of each run; of steps in the order of runs.
std::vector<double> MeansByRun(const std::vector<double>& values, const std::vector<Window>& steps);

// Two or three sentences: how much, whether it is more than noise, and why.
std::string SentencesOf(const Judgement& judgement,
                        recipes::Language language = recipes::Language::kEnglish);

// "computing > 3%", "step > 1.5ms"; "machine": the change that all work shares.
struct FailCondition {
  std::string stage;
  double limit = 0;
  bool is_percent = true;
};
Result<FailCondition> ParseFailCondition(const std::string& text);
// A change that all work shares (clock or load of the machine) is no change of a stage: it is
// counted as "machine" only. kFailedPrecondition where a side has only one step.
struct FailCheck {
  std::string failed;  // a line where the condition holds beyond noise, "" where it does not
  std::string spared;  // a line where it would hold but for the machine
};
Result<FailCheck> CheckFail(const FailCondition& condition, const Judgement& judgement);

}  // namespace sonde::compare
