// The verdict on one pair of rows: a parameter, an input, a result.
#include <algorithm>
#include <cmath>
#include <span>

#include "base/count_of.h"
#include "base/strings.h"
#include "precision/cause/cause_search.h"
#include "precision/cause/evidence.h"
#include "precision/compare/pairing.h"

namespace sonde::precision {
namespace {

using base::Concat;

double UnitOf(const DumpRow& row) {
  return row.kind == LeafKind::kTensor ? UnitRoundoff(row.dtype) : 0;
}

// Of the share that rounding explains of the whole: one element's share of itself.
constexpr double kElementSpread = 2;

double StatisticGap(const DumpRow& a, const DumpRow& b, size_t which) {
  return a.stats[which].IsNumber() && b.stats[which].IsNumber()
             ? a.stats[which].AsDouble() - b.stats[which].AsDouble()
             : 0;
}

constexpr std::string_view kUpdatedUnseen =
    "the step before agrees, gradients included, and weights are not recorded at L0: the optimizer "
    "made other weights, or the module computes otherwise from this step on (dump with level mix "
    "to "
    "find out)";
constexpr std::string_view kInput = ".input.";
constexpr std::string_view kBackwardPart = ".backward";
constexpr std::string_view kParametersGrad = ".parameters_grad";

}  // namespace

void CauseSearch::AddForward(std::string_view golden_api, CallNumbers* numbers) {
  // "Torch.mm.0.backward", "Module.a.Linear.backward.0", "Module.a.Linear.parameters_grad".
  const size_t dot = golden_api.rfind('.');
  if (dot == std::string_view::npos) return;
  const bool numbered = base::ParseInt64(golden_api.substr(dot + 1)).has_value();
  const std::string_view rest = numbered ? golden_api.substr(dot) : std::string_view();
  const std::string_view phased = golden_api.substr(0, golden_api.size() - rest.size());
  const bool parameters = phased.ends_with(kParametersGrad);
  if (!parameters && !phased.ends_with(kBackwardPart)) return;
  const std::string_view path =
      phased.substr(0, phased.size() - (parameters ? kParametersGrad : kBackwardPart).size());
  const auto rows_of = [&](std::string_view phase) {
    name_.assign(path).append(phase).append(rest);
    return RowsOf(golden_, golden_origins_.Find(name_));
  };
  numbers->is_backward = true;
  // Gradients of parameters: what comes in is what comes into the module.
  if (parameters) {
    for (const DumpRow& row : rows_of(kBackwardPart)) {
      if (row.section == Section::kInput) numbers->inputs.push_back(OperandOf(row));
    }
  }
  for (const DumpRow& row : rows_of(kForwardPart)) numbers->forward.push_back(OperandOf(row));
}

const CallNumbers& CauseSearch::NumbersOf(const AlignedCall& call, const std::vector<Pair>& pairs) {
  CallNumbers& out = numbers_;
  if (has_numbers_) {
    // A difference that passed as rounding of an earlier result of this call counts for the next.
    out.relative = std::max(inputs_apart_, UnseenDistance(out.unit, background_));
    return out;
  }
  has_numbers_ = true;
  // The lists keep their memory from call to call.
  out.inputs.clear();
  out.forward.clear();
  out.is_backward = false;
  out.unit = out.relative = out.factor = 0;
  const std::string_view api = NameOf(golden_, call.golden);
  out.family = FamilyOf(api);
  for (const Pair& pair : pairs) {
    const Operand operand = OperandOf(*pair.golden);
    out.unit = std::max({out.unit, operand.unit, UnitOf(*pair.target)});
    if (IsResult(*pair.golden)) continue;
    if (!operand.is_tensor) {
      const Value& value = pair.golden->stats[kMax];
      if (value.IsNumber()) out.factor = std::max(out.factor, std::fabs(value.AsDouble()));
      continue;
    }
    out.inputs.push_back(operand);
    if (pair.difference.gap == Gap::kNumbers && operand.norm > 0) {
      out.relative = std::max(out.relative, std::min(1.0, pair.difference.length / operand.norm));
    }
  }
  AddForward(api, &out);
  double through = 0;
  for (const Pair& pair : pairs) {
    if (!IsResult(*pair.golden)) {
      through = std::max(through, UnitThrough(*pair.golden, call.golden));
    }
  }
  for (const auto* const operands : {&out.inputs, &out.forward}) {
    for (const Operand& operand : *operands) out.unit = std::max(out.unit, operand.unit);
  }
  // A parameter's gradient came through everything.
  const bool gradient =
      NameOf(target_, call.target).find(kParametersGrad) != std::string_view::npos;
  out.unit = std::max(out.unit, gradient ? coarsest_ : UnitInside(call));
  through = std::max(through, out.unit);
  through_[call.golden] = through;
  out.is_cuda = IsCuda();
  inputs_apart_ = std::max(out.relative, UnseenDistance(through, background_));
  out.relative = inputs_apart_;
  return out;
}

// A collective's result is made of other ranks' parts, too, which are in their dumps.
bool CauseSearch::JudgeCollective(const AlignedCall& call, const Pair& pair) {
  if (FamilyOf(NameOf(target_, call.target)) != Family::kCommunication) return false;
  Report(CauseKind::kOtherRank, call, &pair,
         "the data of this rank agrees: that of another rank differs, or the collective itself");
  return true;
}

// Arguments that only one run gives, as "reduction=sum (target only)". One that is given its
// default is no difference: whoever asks has seen other results.
std::string CauseSearch::LoneArguments(const AlignedCall& call) const {
  std::string out;
  const auto add = [&](const DumpFile& ours, int32_t our_call, const DumpFile& theirs,
                       int32_t their_call, std::string_view side) {
    const std::string_view api = NameOf(ours, our_call);
    const std::string_view other = NameOf(theirs, their_call);
    const auto others = RowsOf(theirs, their_call);
    for (const DumpRow& row : RowsOf(ours, our_call)) {
      if (row.section != Section::kInput || row.kind == LeafKind::kTensor ||
          row.kind == LeafKind::kNone) {
        continue;
      }
      const std::string_view suffix = SuffixOf(row, api);
      const bool is_shared = std::any_of(others.begin(), others.end(), [&](const DumpRow& with) {
        return SuffixOf(with, other) == suffix;
      });
      if (is_shared) continue;
      const std::string_view name =
          suffix.starts_with(kInput) ? suffix.substr(kInput.size()) : suffix;
      out += Concat(out.empty() ? "" : ", ", name, "=", ValueText(&row, comparison_.mode), " (",
                    side, " only)");
    }
  };
  add(target_, call.target, golden_, call.golden, "target");
  add(golden_, call.golden, target_, call.target, "golden run");
  return out;
}

// Integers or a mask by which a call looks up, or of which alone it computes: a dump of statistics
// holds the largest and the smallest of them, and others may differ. Null: there are none.
const CauseSearch::Pair* CauseSearch::UnseenPlaces(const AlignedCall& call,
                                                   const std::vector<Pair>& pairs) const {
  const std::string_view api = NameOf(target_, call.target);
  const bool looks_up =
      FamilyOf(api) == Family::kCopy || api.find(".Embedding.") != std::string_view::npos;
  const bool of_these_alone = std::none_of(pairs.begin(), pairs.end(), [](const Pair& pair) {
    return pair.target->section == Section::kInput && OperandOf(*pair.golden).is_floating;
  });
  if (!(looks_up || of_these_alone) || !(api.ends_with(kForwardPart) || IsModuleName(api)))
    return nullptr;
  if (comparison_.mode != Mode::kStatistics) return nullptr;
  for (const Pair& pair : pairs) {
    const Operand places = OperandOf(*pair.golden);
    if (pair.target->section == Section::kInput && places.is_tensor && !places.is_floating &&
        !places.has_numbers && places.elements > 2 && pair.difference.gap == Gap::kNone) {
      return &pair;
    }
  }
  return nullptr;
}

// An argument that one run alone gives, where results differ by no more than rounding: it may be
// the reason all the same. Reports the first such call.
void CauseSearch::NoteArguments(const AlignedCall& call) {
  const bool all_paired =
      RowsOf(target_, call.target).size() == RowsOf(golden_, call.golden).size();
  if (!noted_.empty() || all_paired) return;
  const std::string arguments = LoneArguments(call);
  if (arguments.empty()) return;
  noted_ = Concat(NameOf(target_, call.target), " got ", arguments,
                  ": its output differs by no more than rounding");
}

// An argument that differs, of a call whose results passed. A number is worth a mention on top:
// what follows from it may be too small for the recorded type, or show in a later step alone.
void CauseSearch::NoteDeferred(const AlignedCall& call, const std::vector<Pair>& pairs) {
  if (deferred_ == nullptr) return;
  const std::string values = Concat(ValueText(deferred_->target, comparison_.mode), " against ",
                                    ValueText(deferred_->golden, comparison_.mode));
  const bool equal = std::none_of(pairs.begin(), pairs.end(), [](const Pair& pair) {
    return IsResult(*pair.target) && pair.difference.gap != Gap::kNone;
  });
  if (noted_.empty()) {
    noted_ = Concat(deferred_->target->name, " differs: ", values, "; the results ",
                    equal ? "are equal" : "differ by no more than rounding");
  }
  const auto is_number = [](const DumpRow& row) {
    return row.kind == LeafKind::kScalar && row.stats[kMax].kind() == Value::Kind::kFloat;
  };
  // The share of a dropout that is switched off has no effect.
  if (out_.unseen_argument.empty() && is_number(*deferred_->target) &&
      is_number(*deferred_->golden) && !IsRandomApi(NameOf(target_, call.target))) {
    const std::string module = ModuleOf(NameOf(target_, call.target));
    out_.unseen_argument = Concat(deferred_->target->name, ": ", values,
                                  module.empty() ? "" : Concat(", in ", module));
  }
}

// An argument, or a shape of the same numbers, that differs matters where results do.
bool CauseSearch::ReportDeferred(const AlignedCall& call) {
  if (deferred_ == nullptr && reshaped_ == nullptr) return false;
  if (deferred_ != nullptr) {
    Report(CauseKind::kArgument, call, deferred_, "an argument of the call differs");
  } else {
    Report(CauseKind::kShape, call, reshaped_,
           "the same numbers in another shape, and the call's results differ");
  }
  return true;
}

// Before results are judged: numbers and texts that both runs give are the reason for any
// difference of results. What one run leaves out (None) is a reason where results differ by more
// than rounding.
bool CauseSearch::JudgeDeferred(const AlignedCall& call, const std::vector<Pair>& pairs,
                                bool other_nodes) {
  // A call that got its first value in another shape may have another form, whose places mean
  // something else (a packed LSTM): its results decide.
  if (deferred_ == nullptr || reshaped_ != nullptr) return false;
  const auto is_given = [](const DumpRow& row) {
    return row.kind != LeafKind::kNone && row.kind != LeafKind::kTensor;
  };
  if (!is_given(*deferred_->target) || !is_given(*deferred_->golden)) return false;
  bool compared = false;
  bool differ = false;
  for (const Pair& pair : pairs) {
    if (!IsResult(*pair.target) || pair.target->kind != LeafKind::kTensor || other_nodes) continue;
    compared = true;
    differ = differ || pair.difference.gap != Gap::kNone;
  }
  return (differ || !compared) && ReportDeferred(call);
}

// Whether a call in the module gave this result of it, and was judged there.
bool CauseSearch::IsGivenInside(const AlignedCall& call, const Pair& pair) {
  const std::string_view module = NameOf(target_, call.target);
  if (!IsModuleName(module)) return false;
  const int32_t ours = target_origins_.Producer(*pair.target, call.target);
  const int32_t theirs = golden_origins_.Producer(*pair.golden, call.golden);
  return ours != kNoCall && theirs != kNoCall &&
         IsInside(NameOf(target_, ours), module, construct_) &&
         std::any_of(alignment_.calls.begin(), alignment_.calls.end(),
                     [&](const AlignedCall& other) {
                       return other.target == ours && other.golden == theirs;
                     });
}

// The coarsest type among the results of the calls in a module, which stand before it.
double CauseSearch::UnitInside(const AlignedCall& call) const {
  const std::string_view module = NameOf(target_, call.target);
  double unit = 0;
  if (!IsModuleName(module)) return unit;
  for (int32_t i = call.target - 1; i >= 0; --i) {
    if (!IsInside(NameOf(target_, i), module, construct_)) break;
    for (const DumpRow& row : RowsOf(target_, i)) {
      if (IsResult(row) && row.kind == LeafKind::kTensor) {
        unit = std::max(unit, UnitRoundoff(row.dtype));
      }
    }
  }
  return unit;
}

// Whether one element differs by more than rounding makes of the largest, where nothing has
// differed before: rounding is spread over all elements.
bool CauseSearch::IsConcentrated(const Pair& pair, const CallNumbers& numbers,
                                 const Tolerance& tolerance) const {
  const Operand output = OperandOf(*pair.golden);
  if (numbers.relative > 0 || !output.is_finite || !output.is_floating || output.norm == 0) {
    return false;
  }
  double element = std::max(std::fabs(StatisticGap(*pair.target, *pair.golden, kMax)),
                            std::fabs(StatisticGap(*pair.target, *pair.golden, kMin)));
  if (comparison_.mode == Mode::kTensor && pair.compared->golden == pair.golden &&
      pair.compared->cells[kMaxAbsErr].kind == Cell::Kind::kNumber) {
    element = pair.compared->cells[kMaxAbsErr].value;
  }
  const double largest = std::max(output.max_abs, OperandOf(*pair.target).max_abs);
  return element > kElementSpread * tolerance.length * (largest / output.norm) + output.tiny;
}

bool CauseSearch::JudgeNumbers(const AlignedCall& call, const Pair& pair,
                               const std::vector<Pair>& pairs) {
  if (IsGivenInside(call, pair)) return false;
  const CallNumbers& numbers = NumbersOf(call, pairs);
  const Operand output = OperandOf(*pair.golden);
  Tolerance tolerance = ToleranceOf(numbers, output);
  if (IsBehindBackward(call.golden)) tolerance.length += GradientNoise();
  const double length = pair.difference.length;
  const bool decided = !output.is_floating && numbers.relative > 0;
  const bool concentrated = IsConcentrated(pair, numbers, tolerance);
  if ((length <= tolerance.length && !concentrated) || decided) {
    // A place or truth value that rounding decides differently stands for nothing measurable.
    const double relative =
        decided || tolerance.scale == 0 ? background_ : length / tolerance.scale;
    Remember(pair, length, decided ? length : tolerance.length);
    Pass(std::min(relative, 1.0), *pair.target);
    NoteArguments(call);
    return false;
  }
  if (OnlyStatisticsRound(*pair.target, *pair.golden, false)) {
    Remember(pair, length, length);
    return false;
  }
  Remember(pair, length, tolerance.length);
  if (JudgeCollective(call, pair)) return true;
  if (IsRandomApi(NameOf(target_, call.target))) {
    Report(CauseKind::kRandom, call, &pair,
           "random by design: set the seeds of both runs (seed_all)");
    return true;
  }
  if (ReportDeferred(call) || ReportLoneCallsInside(call)) return true;
  return ReportNumbers(call, pair, pairs, tolerance);
}

bool CauseSearch::ReportNumbers(const AlignedCall& call, const Pair& pair,
                                const std::vector<Pair>& pairs, const Tolerance& tolerance) {
  const double length = pair.difference.length;
  const std::string arguments = LoneArguments(call);
  // Other rows of a table are no multiple of those that the golden run looked up.
  const bool may_be_places = arguments.empty() && FactorBetween(*pair.target, *pair.golden) == 1;
  const Pair* const places = may_be_places ? UnseenPlaces(call, pairs) : nullptr;
  if (places != nullptr) {
    Report(
        CauseKind::kInput, call, places,
        Concat("its result differs by ", ShortNumber(length),
               ": these numbers differ between the same smallest and largest, which statistics do "
               "not show, or the call itself is wrong (dump with task tensor or md5 to find out)"));
    return true;
  }
  std::string why = arguments.empty() ? Concat(InputsText(call, pairs), "; ")
                                      : Concat("the call got ", arguments, "; ");
  const bool concentrated = length <= tolerance.length;
  if (concentrated) why += "single elements lie further apart than rounding puts them; ";
  why += Concat("its output differs by ", ShortNumber(length),
                pair.difference.is_lower_bound ? " or more" : "", "; rounding explains ",
                ShortNumber(tolerance.length), " (",
                base::CountOf(static_cast<int64_t>(tolerance.terms), "term"), ")");
  // At L0 weights are not recorded: where the first module of a step behind an agreement differs,
  // the update between the two made other ones.
  const bool by_optimizer = arguments.empty() && options_.follows_agreement && calls_ == 0 &&
                            target_.level() == "L0" &&
                            NameOf(target_, call.target).find(kForwardPart) != std::string::npos;
  Report(by_optimizer        ? CauseKind::kOptimizer
         : arguments.empty() ? CauseKind::kOperator
                             : CauseKind::kArgument,
         call, &pair, std::move(why));
  if (by_optimizer) out_.evidence.emplace_back(kUpdatedUnseen);
  if (by_optimizer || !arguments.empty()) return true;
  if (ExplainedByTf32(numbers_, OperandOf(*pair.golden), length)) {
    out_.evidence.emplace_back(kTf32Text);
  } else {
    NoteUnseenOrder(call, pairs);
  }
  return true;
}

// The gradient of an input that one run alone overwrites by its result (inplace=True): a hook of
// that tensor sees the gradient of the result.
bool CauseSearch::IsOverwrittenInOne(const AlignedCall& call) {
  const auto overwrites = [this](const DumpFile& dump, int32_t at, Origins* origins) {
    const std::string_view api = NameOf(dump, at);
    if (!api.ends_with(kBackwardPart)) return false;
    name_.assign(api.substr(0, api.size() - kBackwardPart.size())).append(kForwardPart);
    const int32_t forward = origins->Find(name_);
    return std::ranges::any_of(RowsOf(dump, forward), [this](const DumpRow& row) {
      return row.name.ends_with(".inplace") && ValueText(&row, comparison_.mode) == "True";
    });
  };
  return overwrites(target_, call.target, &target_origins_) !=
         overwrites(golden_, call.golden, &golden_origins_);
}

bool CauseSearch::JudgeNotFinite(const AlignedCall& call, const Pair& pair,
                                 const std::vector<Pair>& pairs) {
  const bool went_in = std::any_of(pairs.begin(), pairs.end(), [](const Pair& other) {
    return other.target->section == Section::kInput && OperandOf(*other.target).has_nan &&
           OperandOf(*other.golden).has_nan;
  });
  if (went_in) {  // NaN makes what it meets: nothing begins here
    LeaveOut(pair);
    return false;
  }
  if (JudgeCollective(call, pair) || ReportDeferred(call)) return true;
  const bool mask = std::any_of(pairs.begin(), pairs.end(), [](const Pair& other) {
    return !IsResult(*other.golden) && OperandOf(*other.golden).has_infinity;
  });
  Report(CauseKind::kNotFinite, call, &pair, NotFiniteText(*pair.target, *pair.golden, mask));
  return true;
}

bool CauseSearch::JudgeResult(const AlignedCall& call, const Pair& pair,
                              const std::vector<Pair>& pairs) {
  const std::string_view api = NameOf(target_, call.target);
  if (pair.difference.gap == Gap::kNone || crossed_ || IsUninitialisedApi(api)) {
    if (pair.difference.gap == Gap::kNone) background_ *= kBackgroundDecay;
    return false;
  }
  if (IsOverwrittenInOne(call)) {
    LeaveOut(pair);
    return false;
  }
  switch (pair.difference.gap) {
    case Gap::kDtype:
      if (ReportLoneCallsInside(call)) return true;
      Report(CauseKind::kDtype, call, &pair,
             "the inputs of the call have the same types in both runs");
      return true;
    case Gap::kShape:
      if (IsReshaped(pair)) return false;
      if (ReportDeferred(call) || ReportLoneCallsInside(call)) return true;
      Report(CauseKind::kShape, call, &pair,
             "the inputs of the call have the same shapes in both runs");
      return true;
    case Gap::kNotFinite:
      return JudgeNotFinite(call, pair, pairs);
    case Gap::kChecksum:
      if (ReportDeferred(call) || ReportLoneCallsInside(call)) return true;
      Report(IsRandomApi(api) ? CauseKind::kRandom : CauseKind::kChecksum, call, &pair,
             Concat(InputsText(call, pairs),
                    "; a checksum does not distinguish rounding from a fault (dump statistics)"));
      return true;
    case Gap::kValue:
      // What one run asks for beside the result, as attention weights.
      if (pair.target->section == Section::kOutput && api.find(kForwardPart) != api.npos &&
          (pair.target->kind == LeafKind::kNone || pair.golden->kind == LeafKind::kNone)) {
        LeaveOut(pair);
        return false;
      }
      if (JudgeCollective(call, pair) || ReportDeferred(call)) return true;
      Report(CauseKind::kOperator, call, &pair,
             Concat(InputsText(call, pairs), "; its outputs differ"));
      return true;
    default:
      return JudgeNumbers(call, pair, pairs);
  }
}

}  // namespace sonde::precision
