#include "compare/difference/causes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/strings.h"

namespace sonde::compare {
namespace {

using base::Concat;

constexpr double kAlpha = 0.01;    // over all causes of a comparison
constexpr double kNothing = 1e-6;  // ms
// A part that follows the machine not at all, or twice as much, is no change of its own.
constexpr double kBesideMachine = 1.25;
constexpr double kSteady = 0.8;  // share of the steps that a part has to be in

using Values = std::vector<double>;

double MeanOf(const Values& values) { return SpreadOf(values).mean_ms; }

void AddTo(Values& sum, const Values& values) {
  sum.resize(values.size());
  for (size_t i = 0; i < values.size(); ++i) sum[i] += values[i];
}

// Distinguishing attributes of a part, without its module and operator.
struct Signature {
  int32_t shapes = 0;
  int32_t types = 0;
  auto operator<=>(const Signature&) const = default;
};
struct Both {
  Series base;
  Series comparison;
};
// Of base and comparison.
struct ShapesOf {
  std::set<int32_t> of[2];
};
using BySignature = std::map<Signature, Both>;
using ByKernel = std::map<int32_t, BySignature>;
using BySubject = std::map<int32_t, ByKernel>;

bool IsThere(const Series& series) {
  return std::any_of(series.calls.begin(), series.calls.end(), [](double n) { return n > 0; });
}

bool IsSteady(const Series& series) {
  const auto steps = std::count_if(series.calls.begin(), series.calls.end(),
                                   [](double calls) { return calls > 0; });
  return static_cast<double>(steps) >= kSteady * static_cast<double>(series.calls.size());
}

// A cause with its evidence.
struct Candidate {
  Cause cause;
  Values base_ms;
  Values comparison_ms;
  Values base_calls;  // of steady work; empty: judged by its time
  Values comparison_calls;
  std::optional<int32_t> subject;  // for its module
  std::optional<int32_t> kernel;
  bool has_same_work = false;    // the same on both sides at another time
  bool knows_shapes = false;     // so that the work is as large, too
  bool follows_machine = false;  // takes longer where all of that does
};

class CauseFinder {
 public:
  CauseFinder(const Works& works, bool is_host) : works_(works), is_host_(is_host) {}

  std::vector<Cause> Run(const Values& base_communication, const Values& comparison_communication) {
    GatherAll();
    for (const auto& [subject, kernels] : subjects_) CompareSubject(subject, kernels);
    for (const auto& [subject, both] : idle_) AddIdle(subject, both);
    if (!base_communication.empty()) {  // sides without a common device know none
      Candidate communication = Named(CauseWord::kExposed, "");
      communication.base_ms = base_communication;
      communication.comparison_ms = comparison_communication;
      candidates_.push_back(std::move(communication));
    }
    return Judged();
  }

 private:
  void GatherAll() {
    for (const Part& part : works_.parts) {
      base_step_ms_ += MeanOf(part.base.ms);
      Both& both = part.key.is_idle ? idle_[part.key.subject]
                                    : subjects_[part.key.subject][part.key.kernel]
                                               [Signature{part.key.shapes, part.key.types}];
      both.base.Add(part.base);
      both.comparison.Add(part.comparison);
      if (!part.key.is_idle) parts_of_[part.key.subject].push_back(&part);
    }
  }

  Candidate Named(CauseWord cause, std::string subject) const {
    Candidate candidate;
    candidate.cause.cause = cause;
    candidate.cause.subject = std::move(subject);
    candidate.base_ms.resize(works_.base_steps);
    candidate.comparison_ms.resize(works_.comparison_steps);
    return candidate;
  }

  // Work that one side has and the other lacks.
  void Take(const Both& both, Candidate& candidate) const {
    AddTo(candidate.base_ms, both.base.ms);
    AddTo(candidate.comparison_ms, both.comparison.ms);
    const Series* sides[] = {&both.base, &both.comparison};
    Values* calls[] = {&candidate.base_calls, &candidate.comparison_calls};
    for (size_t i = 0; i < std::size(sides); ++i) {
      if (IsThere(*sides[i]) && IsSteady(*sides[i])) AddTo(*calls[i], sides[i]->calls);
    }
  }

  static bool IsOn(const BySignature& signatures, Series Both::* side) {
    return std::any_of(signatures.begin(), signatures.end(),
                       [side](const auto& entry) { return IsThere(entry.second.*side); });
  }
  static bool IsOn(const ByKernel& kernels, Series Both::* side) {
    return std::any_of(kernels.begin(), kernels.end(),
                       [side](const auto& entry) { return IsOn(entry.second, side); });
  }

  void CompareSubject(int32_t subject, const ByKernel& kernels) {
    const bool in_base = IsOn(kernels, &Both::base);
    const bool in_comparison = IsOn(kernels, &Both::comparison);
    const std::string& name = works_.names.At(subject);
    const bool is_alone = !in_base || !in_comparison;
    Candidate others = Named(!in_base         ? CauseWord::kAppeared
                             : !in_comparison ? CauseWord::kVanished
                                              : CauseWord::kOtherKernels,
                             name);
    others.subject = subject;
    const ByKernel same =
        is_alone ? kernels : WithoutOtherTypes(subject, WithoutOtherShapes(subject, kernels));
    for (const auto& [kernel, signatures] : same) {
      if (is_alone || !IsOn(signatures, &Both::base) || !IsOn(signatures, &Both::comparison)) {
        for (const auto& [signature, both] : signatures) Take(both, others);
      } else {
        CompareKernel(subject, kernel, signatures);
      }
    }
    candidates_.push_back(std::move(others));
  }

  // An operator of other sizes often comes with another kernel, too, which its library chose by
  // them: that is one cause. Gives what is left, of shapes that both sides have. Of several layers
  // one may get the shapes that another has: each module is looked at by itself, too.
  ByKernel WithoutOtherShapes(int32_t subject, ByKernel kernels) {
    ShapesOf all;
    std::map<int32_t, ShapesOf> by_module;
    for (const Part* part : parts_of_.at(subject)) {
      for (ShapesOf* shapes : {&all, &by_module[part->key.module]}) {
        if (IsThere(part->base)) shapes->of[0].insert(part->key.shapes);
        if (IsThere(part->comparison)) shapes->of[1].insert(part->key.shapes);
      }
    }
    // Shapes that one side has in addition are calls in addition: nothing was done in their place.
    const auto is_other = [](const ShapesOf& shapes, int32_t one) {
      return AreReplaced(shapes.of) && !(shapes.of[0].contains(one) && shapes.of[1].contains(one));
    };
    Candidate other = Named(CauseWord::kOtherShapes, works_.names.At(subject));
    ByKernel rest;
    std::set<int32_t> moved;
    for (const Part* part : parts_of_.at(subject)) {
      const PartKey& key = part->key;
      if (is_other(all, key.shapes) || is_other(by_module[key.module], key.shapes)) {
        Take({part->base, part->comparison}, other);
        moved.insert(key.kernel);
        continue;
      }
      Both& both = rest[key.kernel][Signature{key.shapes, key.types}];
      both.base.Add(part->base);
      both.comparison.Add(part->comparison);
    }
    if (moved.empty()) return kernels;
    AddMoved(subject, moved, std::move(other));
    return rest;
  }

  // The same of element types at the same shapes.
  ByKernel WithoutOtherTypes(int32_t subject, ByKernel kernels) {
    struct Types {
      std::set<int32_t> of[2];
    };
    std::map<int32_t, Types> by_shapes;
    for (const auto& [kernel, signatures] : kernels) {
      for (const auto& [signature, both] : signatures) {
        Types& types = by_shapes[signature.shapes];
        if (IsThere(both.base)) types.of[0].insert(signature.types);
        if (IsThere(both.comparison)) types.of[1].insert(signature.types);
      }
    }
    return Without(
        subject, std::move(kernels), CauseWord::kOtherTypes, [&](const Signature& signature) {
          const Types& types = by_shapes.at(signature.shapes);
          const bool is_shared =
              types.of[0].contains(signature.types) && types.of[1].contains(signature.types);
          return !is_shared && AreReplaced(types.of);
        });
  }

  static bool AreReplaced(const std::set<int32_t> (&sides)[2]) {
    return HasOthers(sides[0], sides[1]) && HasOthers(sides[1], sides[0]);
  }

  // Takes the parts that `is_other` selects for one cause; returns the rest.
  template <typename IsOther>
  ByKernel Without(int32_t subject, ByKernel rest, CauseWord cause, const IsOther& is_other) {
    std::set<int32_t> moved;
    Candidate other = Named(cause, works_.names.At(subject));
    for (auto& [kernel, signatures] : rest) {
      const auto taken = std::erase_if(signatures, [&](const auto& entry) {
        if (!is_other(entry.first)) return false;
        Take(entry.second, other);
        return true;
      });
      if (taken > 0) moved.insert(kernel);
    }
    if (moved.empty()) return rest;
    std::erase_if(rest, [](const auto& entry) { return entry.second.empty(); });
    AddMoved(subject, moved, std::move(other));
    return rest;
  }

  // Of the kernel, where it is one.
  void AddMoved(int32_t subject, const std::set<int32_t>& kernels, Candidate other) {
    other.subject = subject;
    if (kernels.size() == 1) {
      other.kernel = *kernels.begin();
      other.cause.subject = TextOf(subject, *kernels.begin());
    }
    candidates_.push_back(std::move(other));
  }

  // The operator, with its kernel where that is more specific.
  std::string TextOf(int32_t subject, int32_t kernel) const {
    const std::string& op = works_.names.At(subject);
    const std::string& name = works_.names.At(kernel);
    const bool is_same = name == op || name.ends_with(Concat("::", op));  // "aten::mm" of "mm"
    return is_same ? op : Concat(op, " (", name, ")");
  }

  void CompareKernel(int32_t subject, int32_t kernel, const BySignature& signatures) {
    const std::string text = TextOf(subject, kernel);
    Candidate calls = Named(CauseWord::kCalls, text);
    const bool knows_shapes = std::any_of(
        signatures.begin(), signatures.end(),
        [this](const auto& entry) { return !works_.names.At(entry.first.shapes).empty(); });
    Candidate speed = Named(knows_shapes ? CauseWord::kSpeed : CauseWord::kTime, text);
    speed.has_same_work = speed.follows_machine = true;
    speed.knows_shapes = knows_shapes;
    for (const auto& [signature, both] : signatures) {
      if (IsThere(both.base) && IsThere(both.comparison)) {
        Split(both, calls, speed);
      } else {
        // Replaced calls were taken before: these shapes and types are additional.
        Take(both, calls);
      }
    }
    for (Candidate* candidate : {&calls, &speed}) {
      candidate->subject = subject;
      candidate->kernel = kernel;
      candidates_.push_back(std::move(*candidate));
    }
  }

  static bool HasOthers(const std::set<int32_t>& of, const std::set<int32_t>& than) {
    return !std::includes(than.begin(), than.end(), of.begin(), of.end());
  }

  // The cost of the changed number of calls at the base's time of a call, and the rest.
  static void Split(const Both& both, Candidate& calls, Candidate& speed) {
    const double mean_calls = MeanOf(both.base.calls);
    const double ms = MeanOf(both.base.ms);
    const double call_ms = ms / mean_calls;
    AddTo(calls.base_calls, both.base.calls);
    AddTo(calls.comparison_calls, both.comparison.calls);
    Values calls_base(both.base.ms.size(), ms);
    Values calls_comparison = both.comparison.calls;
    Values speed_comparison = both.comparison.ms;
    for (size_t i = 0; i < calls_comparison.size(); ++i) {
      calls_comparison[i] *= call_ms;
      speed_comparison[i] -= calls_comparison[i] - ms;
    }
    AddTo(calls.base_ms, calls_base);
    AddTo(calls.comparison_ms, calls_comparison);
    AddTo(speed.base_ms, both.base.ms);
    AddTo(speed.comparison_ms, speed_comparison);
  }

  void AddIdle(int32_t subject, const Both& both) {
    const std::string& name = works_.names.At(subject);
    Candidate idle = Named(is_host_ ? CauseWord::kHost : CauseWord::kIdle, name);
    idle.subject = subject;
    idle.follows_machine = is_host_;
    idle.base_ms = both.base.ms;
    idle.comparison_ms = both.comparison.ms;
    candidates_.push_back(std::move(idle));
  }

  // The effect of another number of calls, without that of the machine.
  static double WorkOf(const Part& part) {
    const double calls[] = {MeanOf(part.base.calls), MeanOf(part.comparison.calls)};
    const double ms = MeanOf(part.base.ms) + MeanOf(part.comparison.ms);
    return std::abs(calls[1] - calls[0]) * ms / (calls[0] + calls[1]);
  }

  static bool IsIdle(const Candidate& candidate) {
    const CauseWord cause = candidate.cause.cause;
    return cause == CauseWord::kHost || cause == CauseWord::kIdle;
  }

  // Module with half or more of the cause; "" where there is none.
  std::string ModuleOf(const Candidate& candidate) const {
    if (!candidate.subject || IsIdle(candidate)) return {};
    std::map<int32_t, double> by_module;
    double all = 0;
    for (const Part* part : parts_of_.at(*candidate.subject)) {
      if (candidate.kernel && part->key.kernel != *candidate.kernel) continue;
      const double diff = KindOf(candidate.cause.cause) == CauseKind::kWork
                              ? WorkOf(*part)
                              : MeanOf(part->comparison.ms) - MeanOf(part->base.ms);
      by_module[part->key.module] += diff;
      all += diff;
    }
    for (const auto& [module, diff] : by_module) {
      if (module == 0 || all == 0 || diff / all < 1.0 / 2) continue;
      return works_.modules[static_cast<size_t>(module)].path;
    }
    return {};
  }

  // Statement for the parts that it is made of.
  std::string EvidenceOf(const Candidate& candidate) const {
    if (!candidate.subject) return "FROM compare_stage WHERE stage = 'communication'";
    const auto is_text = [this](std::string_view column, int32_t text) {
      return Concat(column, " = '", base::ReplaceAll(works_.names.At(text), "'", "''"), "'");
    };
    std::string statement = Concat("FROM compare_tree WHERE node ", IsIdle(candidate) ? "<>" : "=",
                                   " 'kernel' AND ", is_text("subject", *candidate.subject));
    if (candidate.kernel) statement += Concat(" AND ", is_text("name", *candidate.kernel));
    return statement;
  }

  // The factor of time of the same work over all of it: 1 where there is none.
  double MachineFactor() const {
    std::vector<double> ratios;
    double all_ms = 0;
    for (const Candidate& one : candidates_) {
      if (one.has_same_work) all_ms += MeanOf(one.base_ms);
    }
    constexpr double kTooSmall = 1e-3;
    for (const Candidate& one : candidates_) {
      const double base = MeanOf(one.base_ms);
      if (one.has_same_work && base > kTooSmall * all_ms) {
        ratios.push_back(MeanOf(one.comparison_ms) / base);
      }
    }
    constexpr size_t kFew = 8;
    if (ratios.size() < kFew) return 1;
    std::sort(ratios.begin(), ratios.end());
    constexpr size_t kQuarter = 4;
    const double low = ratios[ratios.size() / kQuarter];
    const double high = ratios[ratios.size() - 1 - ratios.size() / kQuarter];
    const bool is_common = low > 1 + kRelevant || high < 1 - kRelevant;
    return is_common ? ratios[ratios.size() / 2] : 1;
  }

  void AddMachine(double factor, std::vector<Cause>& causes) const {
    if (factor == 1) return;
    Cause machine;
    double sized_ms = 0;
    for (const Candidate& one : candidates_) {
      if (!one.has_same_work) continue;
      machine.base_ms += MeanOf(one.base_ms);
      if (one.knows_shapes) sized_ms += MeanOf(one.base_ms);
    }
    machine.cause = 2 * sized_ms >= machine.base_ms ? CauseWord::kMachine : CauseWord::kUnsized;
    machine.evidence = "FROM compare_stage";
    machine.comparison_ms = factor * machine.base_ms;
    machine.low_ms = machine.high_ms = machine.DiffMs();
    machine.verdict = HasSpread() ? Verdict::kChanged : Verdict::kOneStep;
    causes.push_back(std::move(machine));
  }

  bool HasSpread() const { return works_.base_steps > 1 && works_.comparison_steps > 1; }

  void JudgeOne(double alpha, double factor, Candidate& candidate) const {
    Cause& cause = candidate.cause;
    // The effect of the machine is a cause of its own.
    const double machine = candidate.follows_machine ? factor - 1 : 0;
    const double machine_ms = machine * MeanOf(candidate.base_ms);
    for (double& ms : candidate.comparison_ms) ms -= machine_ms;
    const Spread a = SpreadOf(candidate.base_ms);
    const Spread b = SpreadOf(candidate.comparison_ms);
    cause.base_ms = a.mean_ms;
    cause.comparison_ms = b.mean_ms;
    const Gap gap = GapOf(a, b, alpha);
    if (!gap.is_known) return;
    cause.low_ms = gap.low;
    cause.high_ms = gap.high;
    bool is_changed = false;
    if (!candidate.base_calls.empty() || !candidate.comparison_calls.empty()) {
      candidate.base_calls.resize(works_.base_steps);
      candidate.comparison_calls.resize(works_.comparison_steps);
      is_changed =
          GapOf(SpreadOf(candidate.base_calls), SpreadOf(candidate.comparison_calls), alpha)
              .LeavesOutZero() ||
          IsBoth(candidate);
    } else {
      const double own = std::max(kRelevantTime, kBesideMachine * std::abs(machine)) * a.mean_ms;
      is_changed = gap.LeavesOutZero() && AreRunsApart(candidate) && std::abs(gap.diff) > own &&
                   std::abs(gap.diff) > kRelevantOfStep * base_step_ms_;
    }
    cause.verdict = is_changed ? Verdict::kChanged : Verdict::kTooNoisy;
  }

  bool AreRunsApart(const Candidate& candidate) const {
    if (!works_.are_runs) return true;
    const double least = LeastRankTail(candidate.base_ms.size(), candidate.comparison_ms.size());
    return RankTail(candidate.base_ms, candidate.comparison_ms) <=
           std::max(kRankAlpha, least * (1 + 1e-9));
  }

  // Steady work of each side that the other lacks: as many calls are no less of a change.
  static bool IsBoth(const Candidate& candidate) {
    const CauseWord cause = candidate.cause.cause;
    const bool is_other = cause == CauseWord::kOtherKernels || cause == CauseWord::kOtherShapes ||
                          cause == CauseWord::kOtherTypes;
    return is_other && MeanOf(candidate.base_calls) > 0 && MeanOf(candidate.comparison_calls) > 0;
  }

  std::vector<Cause> Judged() {
    std::erase_if(candidates_, [](const Candidate& one) {
      return std::abs(MeanOf(one.comparison_ms) - MeanOf(one.base_ms)) < kNothing;
    });
    // Of few runs no interval leaves out that little: the ranks have to lie apart, too.
    const double alpha =
        works_.are_runs ? kAlpha
                        : kAlpha / static_cast<double>(std::max<size_t>(1, candidates_.size()));
    const double factor = MachineFactor();
    std::vector<Cause> causes;
    AddMachine(factor, causes);
    for (Candidate& candidate : candidates_) {
      JudgeOne(alpha, factor, candidate);
      candidate.cause.module = ModuleOf(candidate);
      candidate.cause.evidence = EvidenceOf(candidate);
      causes.push_back(std::move(candidate.cause));
    }
    std::stable_sort(causes.begin(), causes.end(), [](const Cause& x, const Cause& y) {
      const bool is_noise[] = {x.verdict == Verdict::kTooNoisy, y.verdict == Verdict::kTooNoisy};
      if (is_noise[0] != is_noise[1]) return is_noise[1];
      return std::abs(x.DiffMs()) > std::abs(y.DiffMs());
    });
    return causes;
  }

  const Works& works_;
  const bool is_host_;
  BySubject subjects_;
  std::map<int32_t, std::vector<const Part*>> parts_of_;  // by subject
  std::map<int32_t, Both> idle_;
  double base_step_ms_ = 0;  // work and idle time
  std::vector<Candidate> candidates_;
};

}  // namespace

std::vector<Cause> FindCauses(const Works& works, bool is_host,
                              const std::vector<double>& base_communication_ms,
                              const std::vector<double>& comparison_communication_ms) {
  return CauseFinder(works, is_host).Run(base_communication_ms, comparison_communication_ms);
}

double AlignedShare(const Works& works) {
  std::map<int32_t, std::pair<double, double>> by_subject;
  for (const Part& part : works.parts) {
    if (part.key.is_idle) continue;
    by_subject[part.key.subject].first += MeanOf(part.base.ms);
    by_subject[part.key.subject].second += MeanOf(part.comparison.ms);
  }
  double all = 0;
  double aligned = 0;
  for (const auto& [subject, ms] : by_subject) {
    all += ms.first + ms.second;
    if (ms.first > 0 && ms.second > 0) aligned += ms.first + ms.second;
  }
  return all > 0 ? aligned / all : 0;
}

}  // namespace sonde::compare
