#include "precision/cause/first_cause.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "base/strings.h"
#include "precision/cause/evidence.h"
#include "precision/cause/operand.h"
#include "precision/cause/origins.h"
#include "precision/cause/tolerance.h"
#include "precision/compare/pairing.h"

namespace sonde::precision {
namespace {

using base::Concat;

// Rounding that has begun does not end: where statistics show none, elements may still differ.
constexpr double kBackgroundDecay = 0.98;
// A gap in one run's calls can explain a difference as long as nothing computed behind it agreed.
constexpr int kGapReach = 12;
// A weight that an optimizer has updated with rounded gradients.
constexpr double kCarriedGrowth = 64;
constexpr double kCarriedLimit = 0.01;

// Statistics are sums in the precision of their kernel: two devices may round them otherwise.
constexpr double kStatisticRounding = 8 * 0x1p-24;

bool IsResult(const DumpRow& row) {
  return row.section == Section::kOutput || row.section == Section::kParametersGrad ||
         row.section == Section::kDebug;
}

std::string_view SuffixOf(const DumpRow& row, std::string_view api) {
  return row.name.starts_with(api) ? row.name.substr(api.size()) : row.name;
}

std::span<const DumpRow> RowsOf(const DumpFile& dump, int32_t call) {
  if (call == kNoCall) return {};
  const DumpApi& api = dump.apis()[static_cast<size_t>(call)];
  return {&dump.rows()[api.first_row], api.row_count};
}

// Weights stand behind the first argument of these.
bool IsParameterPlace(const DumpRow& row, std::string_view api) {
  if (row.section == Section::kParameters) return true;
  if (row.section != Section::kInput || !api.starts_with("Functional.") ||
      !api.ends_with(".forward")) {
    return false;
  }
  const std::string_view name = api.substr(11, api.find('.', 11) - 11);
  const bool weighs = name == "linear" || name.starts_with("conv") || name == "embedding" ||
                      name.ends_with("_norm") || name == "embedding_bag" || name == "bilinear" ||
                      name == "prelu";
  return weighs && !SuffixOf(row, api).starts_with(".input.0");
}

bool IsScalarOfDevice(const DumpRow& row) { return row.name.ends_with(".device"); }

}  // namespace

// One walk; its result grows in `out_`.
class CauseSearch {
 public:
  CauseSearch(const Comparison& comparison, const DumpFile& target, const DumpFile& golden,
              const Alignment& alignment, const ConstructFile* construct,
              const CauseOptions& options)
      : comparison_(comparison),
        target_(target),
        golden_(golden),
        alignment_(alignment),
        construct_(construct),
        options_(options),
        target_origins_(target, comparison.mode),
        golden_origins_(golden, comparison.mode) {
    out_.largest_relative = 0;
  }

  FirstCause Run();

 private:
  struct Pair {
    const DumpRow* target;
    const DumpRow* golden;
    const ComparedRow* compared;
    Difference difference;
  };

  bool WalkCall(const AlignedCall& call);
  static bool HasOtherNodes(std::string_view api, const std::vector<Pair>& pairs);
  void MeasureRows(const AlignedCall& call, std::vector<Pair>* pairs);
  bool JudgeInput(const AlignedCall& call, const Pair& pair);
  bool JudgeParameter(const AlignedCall& call, const Pair& pair);
  bool JudgeOrigin(const AlignedCall& call, const Pair& pair);
  bool JudgeResult(const AlignedCall& call, const Pair& pair, const std::vector<Pair>& pairs);
  bool JudgeNumbers(const AlignedCall& call, const Pair& pair, const std::vector<Pair>& pairs);
  CallNumbers NumbersOf(const AlignedCall& call, const std::vector<Pair>& pairs);
  void AddForward(std::string_view golden_api, CallNumbers* numbers);
  bool FindMovedCalls(const AlignedCall& call, const Pair& pair);
  int32_t LaterWith(const DumpFile& dump, int32_t call, const DumpRow& like,
                    std::string_view suffix, std::string_view name) const;
  std::string ModuleOf(std::string_view api) const;
  std::string InsideOf(const AlignedCall& call);
  bool InputsAgree(std::string_view module);
  bool StatisticsRoundEverywhere();
  bool OnlyStatisticsRound(const DumpRow& target, const DumpRow& golden) const;
  bool ReportGap(const AlignedCall& behind);
  void Report(CauseKind kind, const AlignedCall& call, const Pair* pair, std::string why);
  void Pass(double relative, const DumpRow& row);
  std::string BeforeText() const;
  std::string_view NameOf(const DumpFile& dump, int32_t call) const {
    return call == kNoCall ? std::string_view() : dump.apis()[static_cast<size_t>(call)].name;
  }

  const Comparison& comparison_;
  const DumpFile& target_;
  const DumpFile& golden_;
  const Alignment& alignment_;
  const ConstructFile* const construct_;
  const CauseOptions& options_;
  Origins target_origins_;
  Origins golden_origins_;
  FirstCause out_;
  double background_ = 0;
  uint64_t calls_ = 0;    // walked before this one
  size_t gap_begin_ = 0;  // calls that only one run has, not yet explained
  size_t gap_end_ = 0;
  int since_gap_ = 0;
  int statistics_round_ = -1;  // unknown
};

void CauseSearch::MeasureRows(const AlignedCall& call, std::vector<Pair>* pairs) {
  pairs->clear();
  const std::string_view target_api = NameOf(target_, call.target);
  const std::string_view golden_api = NameOf(golden_, call.golden);
  const auto theirs = RowsOf(golden_, call.golden);
  size_t next = 0;
  for (const DumpRow& row : RowsOf(target_, call.target)) {
    const auto index = static_cast<size_t>(&row - &target_.rows()[0]);
    const ComparedRow& compared = comparison_.rows[index];
    const DumpRow* partner = compared.golden;
    if (partner == nullptr || static_cast<int32_t>(partner->api) != call.golden) {
      const std::string_view suffix = SuffixOf(row, target_api);
      size_t at = next;
      while (at < theirs.size() && SuffixOf(theirs[at], golden_api) != suffix) ++at;
      partner = at < theirs.size() ? &theirs[at] : nullptr;
      if (partner != nullptr) next = at + 1;
    }
    if (partner == nullptr) continue;
    const Difference difference = Measure(row, *partner, &compared, comparison_.mode);
    if (difference.gap == Gap::kUnreadable) {
      ++out_.unreadable;
      continue;
    }
    ++out_.values;
    if (difference.gap == Gap::kNone) ++out_.exact;
    pairs->push_back({&row, partner, &compared, difference});
  }
}

std::string CauseSearch::ModuleOf(std::string_view api) const {
  if (construct_ != nullptr) {
    const std::string_view module = construct_->ModuleOf(api);
    if (!module.empty()) return std::string(module);
  }
  return IsModuleName(api) ? std::string(api) : std::string();
}

std::string CauseSearch::BeforeText() const {
  if (calls_ == 0) return "it is the first call of the run";
  const std::string calls = Concat("the ", std::to_string(calls_), " calls before it ");
  return calls + (out_.largest_relative == 0 ? "agree to the last digit" : "agree within rounding");
}

void CauseSearch::Report(CauseKind kind, const AlignedCall& call, const Pair* pair,
                         std::string why) {
  out_.kind = kind;
  out_.target_call = call.target;
  out_.golden_call = call.golden;
  const std::string_view api =
      call.target != kNoCall ? NameOf(target_, call.target) : NameOf(golden_, call.golden);
  out_.place = std::string(api);
  if (out_.module.empty()) out_.module = ModuleOf(api);
  if (pair != nullptr) {
    out_.target_row = pair->target;
    out_.golden_row = pair->golden;
    out_.place = std::string(pair->target->name);
    out_.evidence.push_back(Concat("target  ", ValueText(pair->target, comparison_.mode)));
    out_.evidence.push_back(Concat("golden  ", ValueText(pair->golden, comparison_.mode)));
  }
  out_.evidence.push_back(std::move(why));
  out_.evidence.push_back(BeforeText());
}

void CauseSearch::Pass(double relative, const DumpRow& row) {
  background_ = std::max(relative, background_ * kBackgroundDecay);
  if (relative <= out_.largest_relative) return;
  out_.largest_relative = relative;
  out_.largest_place = std::string(row.name);
}

// Calls that one run lacks, behind which the other run's values differ.
bool CauseSearch::ReportGap(const AlignedCall& behind) {
  if (gap_begin_ == gap_end_) return false;
  size_t only_target = 0;
  size_t only_golden = 0;
  std::string place;
  AlignedCall at = alignment_.calls[gap_begin_];
  for (size_t i = gap_begin_; i < gap_end_; ++i) {
    const AlignedCall& call = alignment_.calls[i];
    const bool ours = call.golden == kNoCall;
    (ours ? only_target : only_golden) += 1;
    const std::string_view name =
        ours ? NameOf(target_, call.target) : NameOf(golden_, call.golden);
    // The outermost module names a whole layer that is missing.
    const bool better = place.empty() || (IsModuleName(name) &&
                                          (!IsModuleName(place) || name.size() < place.size()));
    if (better) {
      place = std::string(name);
      at = call;
    }
  }
  std::string why = "the runs call something else here: ";
  if (only_golden > 0) why += Concat(std::to_string(only_golden), " calls only in the golden run");
  if (only_golden > 0 && only_target > 0) why += ", ";
  if (only_target > 0) why += Concat(std::to_string(only_target), " calls only in the target");
  Report(CauseKind::kCalls, at, nullptr, std::move(why));
  out_.place = place;
  out_.module = ModuleOf(place);
  // The search over ranks needs a place in the target's time.
  if (out_.target_call == kNoCall) out_.target_call = behind.target;
  return true;
}

int32_t CauseSearch::LaterWith(const DumpFile& dump, int32_t call, const DumpRow& like,
                               std::string_view suffix, std::string_view name) const {
  const uint64_t key = ValueKey(like, comparison_.mode);
  for (auto i = static_cast<size_t>(call) + 1; key != 0 && i < dump.apis().size(); ++i) {
    const DumpApi& api = dump.apis()[i];
    if (WithoutCallNumber(api.name) != name) continue;
    for (const DumpRow& row : RowsOf(dump, static_cast<int32_t>(i))) {
      if (SuffixOf(row, api.name) == suffix && ValueKey(row, comparison_.mode) == key &&
          row.shape == like.shape) {
        return static_cast<int32_t>(i);
      }
    }
  }
  return kNoCall;
}

// A weight that is another call's: calls were left out, added or exchanged, and names with numbers
// pair what does not belong together.
bool CauseSearch::FindMovedCalls(const AlignedCall& call, const Pair& pair) {
  const std::string_view api = NameOf(target_, call.target);
  if (IsModuleName(api)) return false;
  const std::string name = WithoutCallNumber(api);
  const std::string_view suffix = SuffixOf(*pair.target, api);
  const int32_t in_golden = LaterWith(golden_, call.golden, *pair.target, suffix, name);
  const int32_t in_target = LaterWith(target_, call.target, *pair.golden, suffix, name);
  if (in_golden == kNoCall && in_target == kNoCall) return false;
  const auto count = [&name](const DumpFile& dump) {
    return std::count_if(dump.apis().begin(), dump.apis().end(), [&name](const DumpApi& other) {
      return WithoutCallNumber(other.name) == name;
    });
  };
  const auto ours = count(target_);
  const auto theirs = count(golden_);
  std::string why;
  if (in_golden != kNoCall && in_target != kNoCall) {
    why = Concat("the order of calls differs: the golden run makes this one as ",
                 NameOf(golden_, in_golden));
  } else if (in_golden != kNoCall && ours < theirs) {
    why = Concat("the target lacks the golden run's calls from ", NameOf(golden_, call.golden),
                 " up to ", NameOf(golden_, in_golden), ", whose weight this call uses");
  } else if (in_target != kNoCall && ours > theirs) {
    why = Concat("the target makes calls that the golden run lacks, up to ",
                 NameOf(target_, in_target));
  } else {
    return false;
  }
  Report(CauseKind::kCalls, call, &pair, std::move(why));
  return true;
}

bool CauseSearch::OnlyStatisticsRound(const DumpRow& target, const DumpRow& golden) const {
  if (comparison_.mode != Mode::kStatistics) return false;
  if (!SameText(target.stats[kMax], golden.stats[kMax]) ||
      !SameText(target.stats[kMin], golden.stats[kMin])) {
    return false;
  }
  const Operand a = OperandOf(target);
  const Operand b = OperandOf(golden);
  const double unit = std::max(kStatisticRounding, 2 * a.unit);
  const double bound = unit * std::log2(a.elements + 2) * std::max(a.norm, b.norm);
  return std::fabs(a.norm - b.norm) <= bound &&
         std::fabs(a.mean - b.mean) * std::sqrt(a.elements) <= bound;
}

// Whether most parameters differ by the rounding of their statistics alone, as on two devices.
bool CauseSearch::StatisticsRoundEverywhere() {
  if (statistics_round_ >= 0) return statistics_round_ == 1;
  int64_t balance = 0;
  for (size_t i = 0; i < comparison_.target_row_count(); ++i) {
    const ComparedRow& row = comparison_.rows[i];
    if (row.golden == nullptr || row.target->kind != LeafKind::kTensor ||
        !IsParameterPlace(*row.target, NameOf(target_, static_cast<int32_t>(row.target->api)))) {
      continue;
    }
    const Difference difference = Measure(*row.target, *row.golden, &row, comparison_.mode);
    balance += difference.gap == Gap::kNone ? -1 : 1;
  }
  // One or two may have been changed by so little.
  statistics_round_ = balance > 2 ? 1 : 0;
  return statistics_round_ == 1;
}

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
           Concat("the target takes what ", NameOf(target_, ours), " gave, the golden run what ",
                  NameOf(golden_, theirs), " gave"));
    return true;
  }
  if (since_gap_ < kGapReach && ReportGap(call)) return true;
  const std::string inside = InsideOf(call);
  if (!inside.empty()) {
    out_.module = inside;
    Report(CauseKind::kOperator, call, &pair,
           Concat("computed in ", inside, " by code that records no call; its own inputs agree"));
    return true;
  }
  Report(CauseKind::kInput, call, &pair,
         target_.level() == "L0" && calls_ > 0
             ? "no recorded call gave this value: it comes from outside, or from code around all "
               "recorded modules (dump the level mix to tell)"
             : "no recorded call before gave this value in both runs");
  return true;
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
             &pair, "no call before differs in this");
      return true;
    case Gap::kValue:
      if (IsScalarOfDevice(*pair.target)) return false;
      Report(CauseKind::kArgument, call, &pair, "the call got another argument");
      return true;
    default:
      break;
  }
  const bool weight = IsParameterPlace(*pair.target, api) &&
                      (pair.target->section == Section::kParameters ||
                       target_origins_.Producer(*pair.target, call.target) == kNoCall ||
                       golden_origins_.Producer(*pair.golden, call.golden) == kNoCall);
  if (weight) return JudgeParameter(call, pair);
  if (pair.target->section == Section::kInput && api.ends_with(".forward") &&
      target_origins_.ParameterOf(*pair.target) != nullptr) {
    return JudgeParameter(call, pair);
  }
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
    Report(CauseKind::kArgument, call, &pair, "the call got another argument");
    return true;
  }
  return JudgeOrigin(call, pair);
}

void CauseSearch::AddForward(std::string_view golden_api, CallNumbers* numbers) {
  for (const std::string_view word : {".backward", ".parameters_grad"}) {
    const size_t at = golden_api.rfind(word);
    if (at == std::string_view::npos) continue;
    const std::string rest(golden_api.substr(at + word.size()));
    const std::string path(golden_api.substr(0, at));
    numbers->is_backward = true;
    // Gradients of parameters: what comes in is what comes into the module.
    if (word == ".parameters_grad") {
      for (const DumpRow& row : RowsOf(golden_, golden_origins_.Find(path + ".backward" + rest))) {
        if (row.section == Section::kInput) numbers->inputs.push_back(OperandOf(row));
      }
    }
    for (const DumpRow& row : RowsOf(golden_, golden_origins_.Find(path + ".forward" + rest))) {
      numbers->forward.push_back(OperandOf(row));
    }
  }
}

CallNumbers CauseSearch::NumbersOf(const AlignedCall& call, const std::vector<Pair>& pairs) {
  CallNumbers out;
  const std::string_view api = NameOf(golden_, call.golden);
  out.family = FamilyOf(api);
  out.relative = background_;
  for (const Pair& pair : pairs) {
    const Operand operand = OperandOf(*pair.golden);
    out.unit = std::max({out.unit, operand.unit, OperandOf(*pair.target).unit});
    if (IsResult(*pair.golden) || !operand.is_tensor) continue;
    out.inputs.push_back(operand);
    if (pair.difference.gap == Gap::kNumbers && operand.norm > 0) {
      out.relative = std::max(out.relative, std::min(1.0, pair.difference.length / operand.norm));
    }
  }
  AddForward(api, &out);
  return out;
}

bool CauseSearch::JudgeNumbers(const AlignedCall& call, const Pair& pair,
                               const std::vector<Pair>& pairs) {
  const CallNumbers numbers = NumbersOf(call, pairs);
  const Operand output = OperandOf(*pair.golden);
  const Tolerance tolerance = ToleranceOf(numbers, output);
  const double length = pair.difference.length;
  const bool decided = !output.is_floating && numbers.relative > 0;
  if (length <= tolerance.length || decided) {
    // A place or truth value that rounding decides differently stands for nothing measurable.
    const double relative =
        decided || tolerance.scale == 0 ? background_ : length / tolerance.scale;
    Pass(std::min(relative, 1.0), *pair.target);
    return false;
  }
  const bool random = IsRandomApi(NameOf(target_, call.target));
  Report(random ? CauseKind::kRandom : CauseKind::kOperator, call, &pair,
         random ? std::string("random by design: set the seeds of both runs (seed_all)")
                : Concat("what it got agrees, what it gave lies ", ShortNumber(length),
                         pair.difference.is_lower_bound ? " or more apart" : " apart",
                         "; rounding explains ", ShortNumber(tolerance.length), " (",
                         std::to_string(static_cast<int64_t>(tolerance.terms)), " terms)"));
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
      Report(CauseKind::kDtype, call, &pair, "what the call got is of one type in both runs");
      return true;
    case Gap::kShape:
      Report(CauseKind::kShape, call, &pair, "what the call got has one shape in both runs");
      return true;
    case Gap::kNotFinite: {
      const bool mask = std::any_of(pairs.begin(), pairs.end(), [](const Pair& other) {
        return !IsResult(*other.golden) && OperandOf(*other.golden).has_infinity;
      });
      Report(CauseKind::kNotFinite, call, &pair, NotFiniteText(*pair.target, *pair.golden, mask));
      return true;
    }
    case Gap::kChecksum:
      Report(
          IsRandomApi(api) ? CauseKind::kRandom : CauseKind::kChecksum, call, &pair,
          "what it got agrees; a checksum does not tell rounding from a fault (dump statistics)");
      return true;
    case Gap::kValue:
      Report(CauseKind::kOperator, call, &pair, "what it got agrees, what it gave does not");
      return true;
    default:
      return JudgeNumbers(call, pair, pairs);
  }
}

// What a backward of a function gives are the gradients of its last node, whose order and shapes
// belong to the kernel that the forward chose: of two kernels they are not comparable.
bool CauseSearch::HasOtherNodes(std::string_view api, const std::vector<Pair>& pairs) {
  if (!api.ends_with(".backward") || IsModuleName(api)) return false;
  return std::any_of(pairs.begin(), pairs.end(), [](const Pair& pair) {
    return IsResult(*pair.target) &&
           (pair.difference.gap == Gap::kShape || pair.difference.gap == Gap::kValue);
  });
}

bool CauseSearch::WalkCall(const AlignedCall& call) {
  std::vector<Pair> pairs;
  MeasureRows(call, &pairs);
  const bool differs = std::any_of(pairs.begin(), pairs.end(), [](const Pair& pair) {
    return pair.difference.gap != Gap::kNone;
  });
  bool computed = false;
  const bool other_nodes = HasOtherNodes(NameOf(target_, call.target), pairs);
  for (const bool results : {false, true}) {
    for (const Pair& pair : pairs) {
      if (IsResult(*pair.target) != results || (results && other_nodes)) continue;
      computed = computed || (results && pair.target->kind == LeafKind::kTensor);
      if (differs && (results ? JudgeResult(call, pair, pairs) : JudgeInput(call, pair))) {
        return true;
      }
    }
  }
  ++calls_;
  if (computed && gap_begin_ != gap_end_) ++since_gap_;
  return false;
}

FirstCause CauseSearch::Run() {
  std::vector<std::string> others;
  for (size_t i = 0; i < alignment_.calls.size(); ++i) {
    const AlignedCall& call = alignment_.calls[i];
    if (call.target == kNoCall || call.golden == kNoCall) {
      if (gap_end_ != i || since_gap_ > 0) gap_begin_ = i;
      gap_end_ = i + 1;
      since_gap_ = 0;
      continue;
    }
    if (WalkCall(call)) return std::move(out_);
    // A result of another rank that never came has nothing behind it that could agree.
    if (since_gap_ >= kGapReach) gap_begin_ = gap_end_;
  }
  if (gap_begin_ != gap_end_ && since_gap_ == 0 && ReportGap({})) return std::move(out_);
  if (!alignment_.is_complete) {
    const AlignedCall last = alignment_.calls.empty() ? AlignedCall() : alignment_.calls.back();
    Report(CauseKind::kCalls, last, nullptr,
           "behind this call the runs call something else, and never meet again");
    return std::move(out_);
  }
  if (out_.values == 0) {
    out_.kind = CauseKind::kNotCompared;
  } else {
    out_.kind = out_.exact == out_.values ? CauseKind::kIdentical : CauseKind::kRounding;
  }
  return std::move(out_);
}

std::string_view CauseText(CauseKind kind) {
  static constexpr std::array<std::string_view, 13> kTexts = {"no difference",
                                                              "rounding only",
                                                              "changed weight",
                                                              "changed input",
                                                              "argument differs",
                                                              "operator differs",
                                                              "order or number of calls differs",
                                                              "element type differs",
                                                              "shape differs",
                                                              "not finite from here",
                                                              "random numbers differ",
                                                              "differs, size unknown",
                                                              "nothing was compared"};
  return kTexts[static_cast<size_t>(kind)];
}

FirstCause FindFirstCause(const Comparison& comparison, const DumpFile& target,
                          const DumpFile& golden, const Alignment& alignment,
                          const ConstructFile* construct, const CauseOptions& options) {
  return CauseSearch(comparison, target, golden, alignment, construct, options).Run();
}

}  // namespace sonde::precision
