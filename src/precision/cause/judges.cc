// The verdict on one pair of rows: a parameter, an input, a result.
#include <algorithm>
#include <cmath>
#include <span>

#include "base/strings.h"
#include "precision/cause/cause_search.h"
#include "precision/cause/evidence.h"
#include "precision/compare/pairing.h"

namespace sonde::precision {
namespace {

using base::Concat;

// A weight that an optimizer has updated with rounded gradients.
constexpr double kCarriedGrowth = 64;
constexpr double kCarriedLimit = 0.01;

double UnitOf(const DumpRow& row) {
  return row.kind == LeafKind::kTensor ? UnitRoundoff(row.dtype) : 0;
}

constexpr std::string_view kInput = ".input.";
constexpr std::string_view kTf32Text =
    "products in TF32 explain it: compare torch.backends.cudnn.allow_tf32 and .cuda.matmul";
constexpr std::string_view kForwardPart = ".forward";
constexpr std::string_view kBackwardPart = ".backward";
constexpr std::string_view kParametersGrad = ".parameters_grad";

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

bool IsScalarOfDevice(const DumpRow& row) { return row.name.ends_with(".device"); }

}  // namespace

bool CauseSearch::JudgeParameter(const AlignedCall& call, const Pair& pair) {
  const Difference& difference = pair.difference;
  if (difference.gap == Gap::kNumbers) {
    const double norm = std::max(OperandOf(*pair.golden).norm, OperandOf(*pair.target).norm);
    const double relative = norm > 0 ? difference.length / norm : 0;
    if (options_.carried > 0 &&
        relative <= std::max(kCarriedGrowth * options_.carried, kCarriedLimit)) {
      Pass(relative, *pair.target);
      return false;
    }
    if (OnlyStatisticsRound(*pair.target, *pair.golden) && StatisticsRoundEverywhere()) {
      return false;
    }
  }
  if (FindMovedCalls(call, pair)) return true;
  std::string why = ChangeText(*pair.target, *pair.golden);
  const DumpRow* const owner = pair.target->section == Section::kParameters
                                   ? nullptr
                                   : target_origins_.ParameterOf(*pair.target);
  if (owner != nullptr) why += Concat("; it is ", owner->name);
  Report(CauseKind::kWeight, call, &pair, std::move(why));
  return true;
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
                  ", the golden run that of ", NameOf(golden_, theirs), " gave"));
    return true;
  }
  if (since_gap_ < kGapReach && ReportGap(call)) return true;
  const std::string inside = InsideOf(call);
  if (!inside.empty()) {
    out_.module = inside;
    Report(CauseKind::kOperator, call, &pair,
           Concat("computed in ", inside, " by code that records no call; its own inputs agree"));
    // For example outputs of linear layers that the module has cut in parts.
    const Operand operand = OperandOf(*pair.golden);
    CallNumbers numbers;
    numbers.family = Family::kModule;
    numbers.inputs = {operand};
    numbers.unit = std::max(operand.unit, UnitOf(*pair.target));
    numbers.relative = background_;
    if (pair.difference.gap == Gap::kNumbers &&
        ExplainedByTf32(numbers, operand, pair.difference.length)) {
      out_.evidence.emplace_back(kTf32Text);
    }
    return true;
  }
  const std::string_view why =
      target_.level() == "L0" && calls_ > 0
          ? "no recorded call produced this value: it comes from outside, or from code around all "
            "recorded modules (dump with level mix to find out)"
          : "no earlier recorded call produced this value in both runs";
  // Inputs of the program exist from the first call on.
  const bool nan = OperandOf(*pair.target).has_nan != OperandOf(*pair.golden).has_nan;
  Report(nan && calls_ > 0 ? CauseKind::kNotFinite : CauseKind::kInput, call, &pair,
         std::string(why));
  if (pair.difference.gap == Gap::kChecksum) {
    out_.evidence.emplace_back(
        "checksums do not show whether one is NaN, rounded or another value (dump statistics)");
  }
  return true;
}

// Where no module is recorded that shows it.
bool CauseSearch::IsParameterByItself(const AlignedCall& call, const Pair& pair) {
  return NameOf(target_, call.target).ends_with(kForwardPart) &&
         IsVectorOfParameters(*pair.target, RowsOf(target_, call.target)) &&
         IsVectorOfParameters(*pair.golden, RowsOf(golden_, call.golden)) &&
         target_origins_.Producer(*pair.target, call.target) == kNoCall &&
         golden_origins_.Producer(*pair.golden, call.golden) == kNoCall;
}

bool CauseSearch::JudgeInput(const AlignedCall& call, const Pair& pair) {
  const std::string_view api = NameOf(target_, call.target);
  switch (pair.difference.gap) {
    case Gap::kNone:
    case Gap::kUnreadable:
      return false;
    case Gap::kDtype:
    case Gap::kShape:
      if (since_gap_ < kGapReach && pair.difference.gap == Gap::kShape && ReportGap(call)) {
        return true;
      }
      Report(pair.difference.gap == Gap::kDtype ? CauseKind::kDtype : CauseKind::kShape, call,
             &pair, "no earlier call differs in this");
      return true;
    case Gap::kValue:
      if (IsScalarOfDevice(*pair.target)) return false;
      Report(CauseKind::kArgument, call, &pair, "an argument of the call differs");
      return true;
    default:
      break;
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
  if (pair.difference.gap == Gap::kNumbers) {
    const Operand operand = OperandOf(*pair.golden);
    const double unit = std::max(operand.unit, operand.is_tensor ? 0 : 0x1p-24);
    const double scale = operand.is_tensor ? operand.norm : pair.golden->stats[kMax].AsDouble();
    const double relative = scale != 0 ? pair.difference.length / std::fabs(scale) : 0;
    Operand sized = operand;
    sized.norm = std::fabs(scale);
    if (pair.difference.length <= InputTolerance(sized, unit, background_)) {
      if (relative < 1) Pass(relative, *pair.target);
      return false;
    }
  }
  if (pair.target->kind != LeafKind::kTensor) {
    Report(CauseKind::kArgument, call, &pair, "an argument of the call differs");
    return true;
  }
  return JudgeOrigin(call, pair);
}

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
    out.relative = std::max(inputs_apart_, background_);
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
  inputs_apart_ = out.relative;
  out.relative = std::max(inputs_apart_, background_);
  AddForward(api, &out);
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

// Look-ups by integers, or by a mask, of which a dump of statistics holds the largest and
// the smallest alone: these may differ although they agree. Null: there are none.
const CauseSearch::Pair* CauseSearch::UnseenPlaces(const AlignedCall& call,
                                                   const std::vector<Pair>& pairs) const {
  const std::string_view api = NameOf(target_, call.target);
  const bool looks_up =
      FamilyOf(api) == Family::kCopy || api.find(".Embedding.") != std::string_view::npos;
  if (!looks_up || !(api.ends_with(kForwardPart) || IsModuleName(api))) return nullptr;
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

bool CauseSearch::JudgeNumbers(const AlignedCall& call, const Pair& pair,
                               const std::vector<Pair>& pairs) {
  const CallNumbers& numbers = NumbersOf(call, pairs);
  const Operand output = OperandOf(*pair.golden);
  const Tolerance tolerance = ToleranceOf(numbers, output);
  const double length = pair.difference.length;
  const bool decided = !output.is_floating && numbers.relative > 0;
  if (length <= tolerance.length || decided) {
    // A place or truth value that rounding decides differently stands for nothing measurable.
    const double relative =
        decided || tolerance.scale == 0 ? background_ : length / tolerance.scale;
    Pass(std::min(relative, 1.0), *pair.target);
    NoteArguments(call);
    return false;
  }
  if (JudgeCollective(call, pair)) return true;
  if (IsRandomApi(NameOf(target_, call.target))) {
    Report(CauseKind::kRandom, call, &pair,
           "random by design: set the seeds of both runs (seed_all)");
    return true;
  }
  const std::string arguments = LoneArguments(call);
  const Pair* const places = arguments.empty() ? UnseenPlaces(call, pairs) : nullptr;
  if (places != nullptr) {
    Report(
        CauseKind::kInput, call, places,
        Concat("the elements that it looked up differ by ", ShortNumber(length),
               ": the indices differ between the same smallest and largest, which statistics do "
               "not show, or the call itself is wrong (dump with task tensor or md5 to find out)"));
    return true;
  }
  std::string why = arguments.empty() ? std::string("its inputs agree, ")
                                      : Concat("the call got ", arguments, "; ");
  why += Concat("its output differs by ", ShortNumber(length),
                pair.difference.is_lower_bound ? " or more" : "", "; rounding explains ",
                ShortNumber(tolerance.length), " (",
                std::to_string(static_cast<int64_t>(tolerance.terms)), " terms)");
  Report(arguments.empty() ? CauseKind::kOperator : CauseKind::kArgument, call, &pair,
         std::move(why));
  if (arguments.empty() && ExplainedByTf32(numbers, output, length)) {
    out_.evidence.emplace_back(kTf32Text);
  }
  return true;
}

bool CauseSearch::JudgeResult(const AlignedCall& call, const Pair& pair,
                              const std::vector<Pair>& pairs) {
  const std::string_view api = NameOf(target_, call.target);
  if (pair.difference.gap == Gap::kNone || IsUninitialisedApi(api)) {
    if (pair.difference.gap == Gap::kNone) background_ *= kBackgroundDecay;
    return false;
  }
  switch (pair.difference.gap) {
    case Gap::kDtype:
      Report(CauseKind::kDtype, call, &pair,
             "the inputs of the call have the same types in both runs");
      return true;
    case Gap::kShape:
      Report(CauseKind::kShape, call, &pair,
             "the inputs of the call have the same shapes in both runs");
      return true;
    case Gap::kNotFinite: {
      if (JudgeCollective(call, pair)) return true;
      const bool mask = std::any_of(pairs.begin(), pairs.end(), [](const Pair& other) {
        return !IsResult(*other.golden) && OperandOf(*other.golden).has_infinity;
      });
      Report(CauseKind::kNotFinite, call, &pair, NotFiniteText(*pair.target, *pair.golden, mask));
      return true;
    }
    case Gap::kChecksum:
      Report(IsRandomApi(api) ? CauseKind::kRandom : CauseKind::kChecksum, call, &pair,
             "its inputs agree; a checksum does not distinguish rounding from a fault (dump "
             "statistics)");
      return true;
    case Gap::kValue:
      if (JudgeCollective(call, pair)) return true;
      Report(CauseKind::kOperator, call, &pair, "its inputs agree, its outputs do not");
      return true;
    default:
      return JudgeNumbers(call, pair, pairs);
  }
}

}  // namespace sonde::precision
