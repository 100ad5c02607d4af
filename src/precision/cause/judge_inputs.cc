// The verdict on one value that a call got: a parameter, an argument, a value that another call
// gave.
#include <algorithm>
#include <cmath>
#include <span>

#include "base/strings.h"
#include "precision/cause/cause_search.h"
#include "precision/cause/evidence.h"
#include "precision/compare/pairing.h"
#include "precision/compare/rules.h"

namespace sonde::precision {
namespace {

using base::Concat;

// A weight that an optimizer has updated with rounded gradients: Adam makes whole steps of the sign
// of noise.
constexpr double kCarriedGrowth = 64;
constexpr double kCarriedLimit = 0.005;
constexpr double kLargestCarried = 0.05;
// A number that the program computed, such as a factor of clipping.
constexpr double kScalarRounding = 16 * 0x1p-24;
constexpr double kScalarGrowth = 8;

// In units of the largest gradient's last digit, what is left in one that is zero but for rounding:
// of a bias in front of a norm, or of the keys' bias in front of a softmax, all terms cancel.
// Coarse types round results alone.
constexpr double kCancelled = 2;
constexpr double kCoarseCancelled = 0.25;

std::string BackwardNameOf(std::string_view forward) {
  return Concat(forward.substr(0, forward.rfind('.')), ".backward");
}

// A vector along the last axis of another operand, of which a gradient is asked: the weight of a
// norm that a model multiplies by itself. A value that code without records made has such a shape
// rarely, and without gradients being recorded it asks for none.
bool IsVectorOfParameters(const DumpRow& row, std::span<const DumpRow> rows) {
  const Operand own = OperandOf(row);
  if (row.section != Section::kInput || row.requires_grad != "True" || own.elements < 2 ||
      own.elements != own.last_axis) {
    return false;
  }
  return std::any_of(rows.begin(), rows.end(), [&](const DumpRow& other) {
    const Operand with = OperandOf(other);
    return other.section == Section::kInput && with.is_tensor && with.last_axis == own.last_axis &&
           with.elements > own.elements;
  });
}

}  // namespace

constexpr std::string_view kComputed =
    "the program computed this value (a gradient is asked of it), and no recorded call gave it: "
    "code "
    "between the calls before and this one";

// A weight that differs, in a step behind one whose gradients agree: made so by the optimizer.
constexpr std::string_view kByOptimizer =
    "the step before agrees, gradients included: the optimizer made other weights of them";

bool CauseSearch::JudgeParameter(const AlignedCall& call, const Pair& pair) {
  const Difference& difference = pair.difference;
  if (difference.gap == Gap::kNumbers) {
    const double norm = std::max(OperandOf(*pair.golden).norm, OperandOf(*pair.target).norm);
    const double relative = norm > 0 ? difference.length / norm : 0;
    const double carried =
        std::min(kCarriedGrowth * options_.carried + kCarriedLimit, kLargestCarried);
    // An update of equal gradients, computed by another form of the optimizer: the last digit.
    const double update = 2 * OperandOf(*pair.golden).unit;
    if (options_.other_optimizer && relative <= update && !IsCoarse(update)) {
      Remember(pair, difference.length, update * norm);
      Pass(relative, *pair.target);
      return false;
    }
    if (options_.carried > 0 && relative <= carried) {
      Remember(pair, difference.length, carried * norm);
      Pass(relative, *pair.target);
      return false;
    }
    if (OnlyStatisticsRound(*pair.target, *pair.golden, !options_.follows_agreement)) {
      Remember(pair, difference.length, difference.length);
      return false;
    }
  }
  if (FindMovedCalls(call, pair)) return true;
  if (IsInOtherOrder(call, pair)) return false;
  std::string why = ChangeText(*pair.target, *pair.golden);
  const DumpRow* const owner = pair.target->section == Section::kParameters
                                   ? nullptr
                                   : golden_origins_.ParameterOf(*pair.golden);
  if (owner != nullptr) why += Concat("; it is ", owner->name);
  const std::string other = OtherPlaceOf(call, pair);
  if (!other.empty()) why += Concat("; it has the values of the golden run's ", other);
  out_.how = other.empty() ? ChangeText(*pair.target, *pair.golden)
                           : Concat("the values of the golden run's ", other);
  const bool by_optimizer =
      options_.follows_agreement && other.empty() && difference.gap == Gap::kNumbers;
  if (by_optimizer && ReportUpdate(call, pair)) return true;
  Report(by_optimizer ? CauseKind::kOptimizer : CauseKind::kWeight, call, &pair, std::move(why));
  if (by_optimizer) out_.evidence.emplace_back(kByOptimizer);
  return true;
}

// A buffer that the call itself updates, as running statistics, by a number that differs: that call
// made it so in the step before.
bool CauseSearch::ReportUpdate(const AlignedCall& call, const Pair& buffer) {
  if (!IsUpdatedPlace(*buffer.target, NameOf(target_, call.target))) return false;
  const auto number = std::find_if(pairs_.begin(), pairs_.end(), [](const Pair& pair) {
    return pair.target->section == Section::kInput && pair.target->kind != LeafKind::kTensor &&
           pair.difference.gap == Gap::kNumbers;
  });
  if (number == pairs_.end()) return false;
  Report(CauseKind::kArgument, call, &*number,
         Concat("the call updates ", buffer.target->name,
                " by it, which agreed in the step before and differs now"));
  return true;
}

// Two calls of equal values that were made in another order: no difference.
bool CauseSearch::IsInOtherOrder(const AlignedCall& call, const Pair& pair) {
  const std::string_view api = NameOf(target_, call.target);
  if (IsModuleName(api)) return false;
  const std::string name = WithoutCallNumber(api);
  const std::string_view suffix = SuffixOf(*pair.target, api);
  const int32_t in_golden = OtherWith(golden_, call.golden, *pair.target, suffix, name);
  const int32_t in_target = OtherWith(target_, call.target, *pair.golden, suffix, name);
  if (in_golden == kNoCall || in_target == kNoCall) return false;
  crossed_ = AreInOtherOrder(call, in_target, in_golden);
  if (crossed_) {
    for (const int32_t at : {call.target, in_target}) {
      crossed_names_.push_back(BackwardNameOf(NameOf(target_, at)));
    }
  }
  return crossed_;
}

// Which parameter of the golden run has the values that the target has here; empty: none.
std::string CauseSearch::OtherPlaceOf(const AlignedCall& call, const Pair& pair) {
  const DumpRow* const parameter = golden_origins_.ParameterOf(*pair.target);
  if (parameter != nullptr) return std::string(parameter->name);
  const std::string_view api = NameOf(target_, call.target);
  const std::string_view suffix = SuffixOf(*pair.target, api);
  const int32_t at = OtherWith(golden_, call.golden, *pair.target, suffix, WithoutCallNumber(api));
  return at == kNoCall ? std::string() : Concat(NameOf(golden_, at), suffix);
}

// Whether what a module got agrees in both runs; false where it is not recorded.
bool CauseSearch::InputsAgree(std::string_view module) {
  const int32_t target = target_origins_.Find(module);
  const int32_t golden = golden_origins_.Find(module);
  if (target == kNoCall || golden == kNoCall) return false;
  std::vector<Pair> pairs;
  const FirstCause kept = out_;
  MeasureRows({target, golden}, &pairs);
  out_ = kept;
  size_t inputs = 0;
  for (const Pair& pair : pairs) {
    if (pair.target->section != Section::kInput || pair.target->kind != LeafKind::kTensor) continue;
    ++inputs;
    const Gap gap = pair.difference.gap;
    if (gap == Gap::kNone) continue;
    // Nothing has differed before: it has not been rounded.
    if (ChecksumsDiffer(*pair.target, *pair.golden) && out_.largest_relative == 0) return false;
    const Operand operand = OperandOf(*pair.golden);
    if (gap != Gap::kNumbers ||
        pair.difference.length > InputTolerance(operand, operand.unit, background_)) {
      return false;
    }
  }
  return inputs > 0;
}

// The innermost module around the call whose own inputs agree; empty: none, the value comes from
// outside of all modules.
std::string CauseSearch::InsideOf(const AlignedCall& call) {
  if (construct_ == nullptr) return {};
  std::string_view name = NameOf(target_, call.target);
  for (int depth = 0; depth < 1000; ++depth) {
    const ConstructEntry* const entry = construct_->Find(name);
    if (entry == nullptr || entry->parent.empty()) return {};
    name = entry->parent;
    if (IsModuleName(name) && InputsAgree(name)) return std::string(name);
  }
  return {};
}

// A vector along the last axis of what the module got. Code that records no call (casts, views)
// makes such a thing of a weight or buffer of the module, and not of its inputs.
bool CauseSearch::IsVectorInside(std::string_view module, const Pair& pair) {
  const Operand own = OperandOf(*pair.golden);
  if (!own.is_floating || own.elements < 2 || own.elements != own.last_axis) return false;
  const auto rows = RowsOf(golden_, golden_origins_.Find(module));
  return std::ranges::any_of(rows, [&](const DumpRow& row) {
    const Operand with = OperandOf(row);
    return row.section == Section::kInput && with.is_floating && with.last_axis == own.last_axis &&
           with.elements > own.elements;
  });
}

// The golden run takes here what a call of both runs gave, and the target takes something else:
// between the two, code that records no call has changed it.
bool CauseSearch::ReportChangedBehind(const AlignedCall& call, const Pair& pair, int32_t giver) {
  const Operand operand = OperandOf(*pair.golden);
  const bool is_constant = operand.max_abs * std::sqrt(operand.elements) <= operand.norm;
  if (giver == kNoCall || !operand.is_floating || operand.elements < 2 || is_constant) return false;
  const auto both = std::ranges::find_if(alignment_.calls, [giver](const AlignedCall& other) {
    return other.golden == giver && other.target != kNoCall;
  });
  if (both == alignment_.calls.end()) return false;
  Report(KindBehindCalls(pair, CauseKind::kOperator), call, &pair,
         Concat("the golden run takes what ", NameOf(golden_, giver), " gave; in the target ",
                NameOf(target_, both->target),
                " gave the same, and code that records no call changed it"));
  return true;
}

// Inputs of a program ask for no gradient: behind the first call, what does so was computed.
bool CauseSearch::IsComputed(const AlignedCall& call, const Pair& pair) const {
  const auto asks = [](const DumpRow& row) {
    return row.requires_grad == "True" && OperandOf(row).elements > 1;
  };
  return calls_ > 0 && pair.target->section == Section::kInput && asks(*pair.target) &&
         asks(*pair.golden) && NameOf(target_, call.target).ends_with(kForwardPart);
}

// A value that differs, and that no call before gave so: who made it?
bool CauseSearch::JudgeOrigin(const AlignedCall& call, const Pair& pair) {
  const int32_t ours = target_origins_.Producer(*pair.target, call.target);
  const int32_t theirs = golden_origins_.Producer(*pair.golden, call.golden);
  const auto is_pair = [&](const AlignedCall& other) {
    return other.target == ours && other.golden == theirs;
  };
  if (ours != kNoCall && theirs != kNoCall) {
    if (std::any_of(alignment_.calls.begin(), alignment_.calls.end(), is_pair)) return false;
    if (since_gap_ < kGapReach && ReportGap(call)) return true;
    Report(CauseKind::kCalls, call, &pair,
           Concat("the target takes the output of ", NameOf(target_, ours),
                  ", the golden run that of ", NameOf(golden_, theirs)));
    return true;
  }
  if (since_gap_ < kGapReach && ReportGap(call)) return true;
  const std::string inside = InsideOf(call);
  if (!inside.empty()) {
    ReportInside(inside, call, pair);
  } else if (!ReportChangedBehind(call, pair, theirs)) {
    ReportOutside(call, pair);
  }
  return true;
}

// Made by code of a module that records no call.
void CauseSearch::ReportInside(const std::string& module, const AlignedCall& call,
                               const Pair& pair) {
  out_.module = module;
  if (IsVectorInside(module, pair)) {
    Report(CauseKind::kWeight, call, &pair,
           Concat("a vector that no call gave, in ", module,
                  ", whose own inputs agree: a weight or buffer of it"));
    return;
  }
  Report(CauseKind::kOperator, call, &pair,
         Concat("computed in ", module, " by code that records no call; its own inputs agree"));
  // For example outputs of linear layers that the module has cut in parts.
  const Operand operand = OperandOf(*pair.golden);
  CallNumbers numbers;
  numbers.family = Family::kModule;
  numbers.unit = std::max(operand.unit, OperandOf(*pair.target).unit);
  numbers.is_cuda = IsCuda();
  if (pair.difference.gap == Gap::kNumbers &&
      ExplainedByTf32(numbers, operand, pair.difference.length)) {
    out_.evidence.emplace_back(kTf32Text);
  }
}

// Given by no recorded call, outside of all modules that show it.
void CauseSearch::ReportOutside(const AlignedCall& call, const Pair& pair) {
  const bool is_computed = IsComputed(call, pair);
  const bool hides_code = target_.level() == "L0" && calls_ > 0;
  std::string why(is_computed  ? kComputed
                  : hides_code ? "no recorded call produced this value: it comes from outside, or "
                                 "from code around all recorded modules"
                               : "no earlier recorded call produced this value in both runs");
  if (hides_code) why += " (dump with level mix to find out)";
  Report(KindBehindCalls(pair, is_computed ? CauseKind::kOperator : CauseKind::kInput), call, &pair,
         std::move(why));
  if (pair.difference.gap == Gap::kChecksum) {
    out_.evidence.emplace_back(
        "checksums do not show whether one is NaN, rounded or another value (dump statistics)");
  }
}

// Inputs of the program exist from the first call on: a NaN that appears later was computed.
CauseKind CauseSearch::KindBehindCalls(const Pair& pair, CauseKind kind) const {
  const bool nan = OperandOf(*pair.target).has_nan != OperandOf(*pair.golden).has_nan;
  return nan && calls_ > 0 ? CauseKind::kNotFinite : kind;
}

// Where no module is recorded that shows it.
bool CauseSearch::IsParameterByItself(const AlignedCall& call, const Pair& pair) {
  return NameOf(target_, call.target).ends_with(kForwardPart) &&
         IsVectorOfParameters(*pair.target, RowsOf(target_, call.target)) &&
         IsVectorOfParameters(*pair.golden, RowsOf(golden_, call.golden)) &&
         target_origins_.Producer(*pair.target, call.target) == kNoCall &&
         golden_origins_.Producer(*pair.golden, call.golden) == kNoCall;
}

// Memory that the call writes or that nobody has written: what lies in it has no meaning.
bool CauseSearch::IsUnwritten(const AlignedCall& call, const Pair& pair) {
  if (IsOverwrittenPlace(*pair.target, NameOf(target_, call.target))) return true;
  const auto is_found = [](const DumpFile& dump, Origins* origins, const DumpRow& row, int32_t at) {
    const int32_t producer = origins->Producer(row, at);
    return producer != kNoCall &&
           IsUninitialisedApi(dump.apis()[static_cast<size_t>(producer)].name);
  };
  return is_found(target_, &target_origins_, *pair.target, call.target) ||
         is_found(golden_, &golden_origins_, *pair.golden, call.golden);
}

// Whether the value of another checksum came into the program before anything had differed.
bool CauseSearch::IsFromOutside(const AlignedCall& call, const Pair& pair) {
  if (!ChecksumsDiffer(*pair.target, *pair.golden) || out_.largest_relative > 0 ||
      pair.target->section != Section::kInput ||
      NameOf(target_, call.target).find(kForwardPart) == std::string_view::npos) {
    return false;
  }
  return target_origins_.Producer(*pair.target, call.target) == kNoCall &&
         golden_origins_.Producer(*pair.golden, call.golden) == kNoCall && InsideOf(call).empty();
}

bool CauseSearch::JudgeArgument(const Pair& pair) {
  // What the call gives decides whether it matters. The first one that differs is shown.
  if (!pair.target->name.ends_with(".device") && deferred_ == nullptr) deferred_ = &pair;
  return false;
}

// Clipping and the optimizer: what follows the last call of a backward.
bool CauseSearch::IsBehindBackward(int32_t golden_call) {
  if (last_backward_ == kUnknownCall) {
    last_backward_ = kNoCall;
    const auto all = static_cast<int32_t>(golden_.apis().size());
    for (int32_t i = 0; i < all; ++i) {
      const std::string_view api = NameOf(golden_, i);
      const bool is_backward = api.find(".backward") != std::string_view::npos ||
                               api.find(".parameters_grad") != std::string_view::npos;
      if (is_backward) last_backward_ = i;
    }
  }
  return last_backward_ != kNoCall && golden_call > last_backward_;
}

// The length of the golden run's largest gradient of a parameter, as far as its calls show
// gradients by themselves; 0: they do not.
double CauseSearch::LargestGradient() {
  if (largest_gradient_ >= 0) return largest_gradient_;
  largest_gradient_ = 0;
  for (const DumpRow& row : golden_.rows()) {
    const std::string_view api = golden_.apis()[row.api].name;
    const bool is_gradient = row.section == Section::kParametersGrad ||
                             (row.section == Section::kInput && IsNormOfTensors(api) &&
                              IsBehindBackward(static_cast<int32_t>(row.api)));
    if (is_gradient) largest_gradient_ = std::max(largest_gradient_, OperandOf(row).norm);
  }
  return largest_gradient_;
}

double CauseSearch::GradientNoise() {
  return (IsCoarse(coarsest_) ? kCoarseCancelled : kCancelled) * coarsest_ * LargestGradient();
}

bool CauseSearch::PassesAsRounding(const AlignedCall& call, const Pair& pair) {
  const Operand operand = OperandOf(*pair.golden);
  if (!operand.is_tensor) {
    const double scale = std::fabs(pair.golden->stats[kMax].AsDouble());
    return pair.difference.length <= (kScalarRounding + kScalarGrowth * background_) * scale;
  }
  // A gradient came through everything.
  const bool gradient =
      operand.is_floating &&
      (IsOptimizerCall(NameOf(target_, call.target), construct_) || IsBehindBackward(call.golden));
  // So did what code without records made of values that have differed: a part of logits, cast.
  const bool has_differed = options_.carried > 0 || out_.largest_relative > 0;
  const bool through_all = gradient || (has_differed && IsComputed(call, pair));
  const double unit =
      std::max(UnitThrough(*pair.golden, call.golden), through_all ? coarsest_ : operand.unit);
  const double explained =
      InputTolerance(operand, unit, background_) + (gradient ? GradientNoise() : 0);
  if (pair.difference.length > explained) return false;
  const double relative = operand.norm != 0 ? pair.difference.length / operand.norm : 0;
  Remember(pair, pair.difference.length, explained);
  if (relative < 1) Pass(relative, *pair.target);
  return true;
}

// The same numbers in another shape: no difference as long as the results are the same.
bool CauseSearch::IsReshaped(const Pair& pair) const {
  const Operand ours = OperandOf(*pair.target);
  const Operand theirs = OperandOf(*pair.golden);
  if (ours.elements != theirs.elements || ours.elements < 2 || ours.unit != theirs.unit ||
      DtypeFamily(pair.target->dtype) != DtypeFamily(pair.golden->dtype)) {
    return false;
  }
  DumpRow flat = *pair.target;
  flat.shape = pair.golden->shape;
  const Difference difference = Measure(flat, *pair.golden, nullptr, comparison_.mode);
  if (difference.gap == Gap::kNone) return true;
  return difference.gap == Gap::kNumbers && theirs.is_floating &&
         difference.length <= InputTolerance(theirs, theirs.unit, background_);
}

// Whether the target comes to the golden call's result a few calls later, as of a product that is
// computed in pieces.
bool CauseSearch::IsMadeInParts(const AlignedCall& call) const {
  if (IsModuleName(NameOf(target_, call.target))) return false;
  const auto theirs = RowsOf(golden_, call.golden);
  const auto result = std::ranges::find_if(theirs, [](const DumpRow& row) {
    return row.section == Section::kOutput && row.kind == LeafKind::kTensor;
  });
  if (result == theirs.end()) return false;
  const Operand operand = OperandOf(*result);
  const auto all = static_cast<int32_t>(target_.apis().size());
  for (int32_t i = call.target + 1; i < std::min(all, call.target + kGapReach); ++i) {
    for (const DumpRow& row : RowsOf(target_, i)) {
      // Joined by code that records no call, it first shows where the next call gets it.
      if (row.kind != LeafKind::kTensor) continue;
      const Difference difference = Measure(row, *result, nullptr, comparison_.mode);
      if (difference.gap == Gap::kNone) return true;
      if (difference.gap == Gap::kNumbers && operand.is_floating &&
          difference.length <= InputTolerance(operand, operand.unit, background_)) {
        return true;
      }
    }
  }
  return false;
}

bool CauseSearch::JudgeTypeOrShape(const AlignedCall& call, const Pair& pair) {
  const bool type = pair.difference.gap == Gap::kDtype;
  if (!type && IsReshaped(pair)) {
    if (reshaped_ == nullptr) reshaped_ = &pair;
    return false;
  }
  if (!type && IsMadeInParts(call)) {
    crossed_ = true;
    crossed_golden_names_.push_back(BackwardNameOf(NameOf(golden_, call.golden)));
    LeaveOut(pair);
    return false;
  }
  if (since_gap_ < kGapReach && !type && ReportGap(call)) return true;
  Report(type ? CauseKind::kDtype : CauseKind::kShape, call, &pair,
         "no earlier call differs in this");
  return true;
}

bool CauseSearch::JudgeInput(const AlignedCall& call, const Pair& pair) {
  const std::string_view api = NameOf(target_, call.target);
  const Gap gap = pair.difference.gap;
  if (gap == Gap::kNone || gap == Gap::kUnreadable) return false;
  if (IsMaskInOtherForm(*pair.target, *pair.golden)) return JudgeArgument(pair);
  if (gap == Gap::kDtype || gap == Gap::kShape) return JudgeTypeOrShape(call, pair);
  if (gap == Gap::kValue) return JudgeArgument(pair);
  if (pair.target->kind == LeafKind::kTensor && IsUnwritten(call, pair)) {
    LeaveOut(pair);
    return false;
  }
  const bool weight = IsParameterPlace(*pair.target, api) &&
                      (pair.target->section == Section::kParameters ||
                       target_origins_.Producer(*pair.target, call.target) == kNoCall ||
                       golden_origins_.Producer(*pair.golden, call.golden) == kNoCall);
  if (weight) return JudgeParameter(call, pair);
  if (pair.target->section == Section::kInput && api.ends_with(kForwardPart) &&
      target_origins_.ParameterOf(*pair.target) != nullptr) {
    return JudgeParameter(call, pair);
  }
  if (IsParameterByItself(call, pair)) return JudgeParameter(call, pair);
  if (IsFromOutside(call, pair)) {
    if (since_gap_ < kGapReach && ReportGap(call)) return true;
    if (IsComputed(call, pair)) {
      Report(CauseKind::kOperator, call, &pair, std::string(kComputed));
    } else {
      Report(CauseKind::kInput, call, &pair, "no earlier recorded call produced this value");
    }
    if (gap == Gap::kNumbers && MeasureStatisticsOnly(*pair.target, *pair.golden) == Gap::kNone) {
      out_.evidence.emplace_back(
          "the checksums differ and the statistics do not: another order of the same numbers "
          "looks so");
    }
    return true;
  }
  if (gap == Gap::kNumbers && PassesAsRounding(call, pair)) return false;
  if (pair.target->kind != LeafKind::kTensor) return JudgeArgument(pair);
  return JudgeOrigin(call, pair);
}

}  // namespace sonde::precision
