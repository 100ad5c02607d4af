#include "precision/cause/first_cause.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/count_of.h"
#include "base/strings.h"
#include "precision/cause/cause_search.h"
#include "precision/cause/evidence.h"
#include "precision/compare/pairing.h"
#include "precision/compare/rules.h"

namespace sonde::precision {
namespace {

using base::Concat;

// Statistics are sums in the precision of their kernel: devices and layouts add them up in another
// order.
constexpr double kStatisticRounding = 2 * 0x1p-24;

}  // namespace

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
    if (row.kind == LeafKind::kTensor) coarsest_ = std::max(coarsest_, UnitRoundoff(row.dtype));
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
  const std::string agree =
      calls_ == 1 ? "call before it agrees "
                  : base::CountOf(calls_, "call before it agrees", "calls before it agree ");
  return "the " + agree + (out_.largest_relative == 0 ? "to the last digit" : "within rounding");
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
    const auto row = static_cast<uint32_t>(pair->target - &target_.rows()[0]);
    if (out_.judged.empty() || out_.judged.back().row != row) {
      out_.judged.push_back({row, pair->difference.length, 0});
    }
    out_.place = std::string(pair->target->name);
    out_.evidence.push_back(Concat("target  ", ValueText(pair->target, comparison_.mode)));
    out_.evidence.push_back(Concat("golden  ", ValueText(pair->golden, comparison_.mode)));
  }
  out_.evidence.push_back(std::move(why));
  out_.evidence.push_back(BeforeText());
  if (!noted_.empty()) out_.evidence.push_back(noted_);
}

void CauseSearch::Remember(const Pair& pair, double distance, double explained) {
  const auto row = static_cast<uint32_t>(pair.target - &target_.rows()[0]);
  out_.judged.push_back({row, distance, explained});
  if (explained <= 0 || distance > explained) return;
  const double share = distance / explained;
  if (share <= out_.largest_share) return;
  out_.largest_share = share;
  out_.share_place = std::string(pair.target->name);
}

void CauseSearch::Pass(double relative, const DumpRow& row) {
  background_ = std::max(relative, background_ * kBackgroundDecay);
  if (relative <= out_.largest_relative) return;
  out_.largest_relative = relative;
  out_.largest_place = std::string(row.name);
}

// `is_loaded`: of a weight that nothing has computed, whose elements are the same to the last
// digit.
bool CauseSearch::OnlyStatisticsRound(const DumpRow& target, const DumpRow& golden,
                                      bool is_loaded) const {
  if (comparison_.mode != Mode::kStatistics) return false;
  if (!SameText(target.stats[kMax], golden.stats[kMax]) ||
      !SameText(target.stats[kMin], golden.stats[kMin])) {
    return false;
  }
  const Operand a = OperandOf(target);
  const Operand b = OperandOf(golden);
  const double norm = std::max(a.norm, b.norm);
  const double mean = std::max(std::fabs(a.mean), std::fabs(b.mean));
  const double unit = is_loaded ? kStatisticRounding : std::max(kStatisticRounding, 2 * a.unit);
  const double sum = unit * std::log2(a.elements + 2) * norm;
  // Of a coarse type the sum is rounded once, to the type.
  const double rounded = is_loaded && IsCoarse(a.unit) ? 2 * a.unit : 0;
  return std::fabs(a.norm - b.norm) <= sum + rounded * norm &&
         (std::fabs(a.mean - b.mean) - rounded * mean) * std::sqrt(a.elements) <= sum;
}

// The results of a backward of a function are the gradients of its last node, whose number, order,
// types and shapes belong to the kernel that the forward chose: of two kernels they are not
// comparable.
bool CauseSearch::HasOtherNodes(const AlignedCall& call, const std::vector<Pair>& pairs) const {
  const std::string_view api = NameOf(target_, call.target);
  if (!api.ends_with(".backward") || IsModuleName(api)) return false;
  const auto gradients = [](std::span<const DumpRow> rows) {
    return std::count_if(rows.begin(), rows.end(), [](const DumpRow& row) {
      return IsResult(row) && row.kind == LeafKind::kTensor;
    });
  };
  if (gradients(RowsOf(target_, call.target)) != gradients(RowsOf(golden_, call.golden))) {
    return true;
  }
  return std::any_of(pairs.begin(), pairs.end(), [](const Pair& pair) {
    return IsResult(*pair.target) &&
           (pair.difference.gap == Gap::kShape || pair.difference.gap == Gap::kDtype ||
            pair.difference.gap == Gap::kValue);
  });
}

// Measured, but of two different things.
void CauseSearch::LeaveOut(const Pair& pair) {
  --out_.values;
  ++out_.unreadable;
  if (pair.difference.gap == Gap::kNone) --out_.exact;
}

// The backward of the module whose parameters' gradients the call holds.
AlignedCall CauseSearch::BackwardOf(const AlignedCall& call) {
  constexpr std::string_view kGradients = ".parameters_grad";
  const auto backward_of = [&](const DumpFile& dump, int32_t index, Origins* origins) {
    std::string name(NameOf(dump, index));
    const size_t at = name.rfind(kGradients);
    if (at == std::string::npos) return kNoCall;
    name.replace(at, kGradients.size(), ".backward");
    return origins->Find(name);
  };
  return {backward_of(target_, call.target, &target_origins_),
          backward_of(golden_, call.golden, &golden_origins_)};
}

// Gradients of a module's parameters stand before what came into its backward: that is judged
// first.
bool CauseSearch::WalkGradientsOf(const AlignedCall& call) {
  const AlignedCall backward = BackwardOf(call);
  if (backward.target == kNoCall || backward.golden == kNoCall) return false;
  const uint64_t values = out_.values;
  const uint64_t exact = out_.exact;
  MeasureRows(backward, &pairs_);
  out_.values = values;  // they are counted at their own place
  out_.exact = exact;
  return std::any_of(pairs_.begin(), pairs_.end(), [&](const Pair& pair) {
    return pair.target->section == Section::kInput && JudgeInput(backward, pair);
  });
}

bool CauseSearch::WalkCall(const AlignedCall& call) {
  std::vector<Pair>& pairs = pairs_;
  has_numbers_ = false;
  deferred_ = nullptr;
  reshaped_ = nullptr;
  crossed_ = false;
  MeasureRows(call, &pairs);
  const auto is_among = [](const std::vector<std::string>& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (is_among(crossed_names_, NameOf(target_, call.target)) ||
      is_among(crossed_golden_names_, NameOf(golden_, call.golden))) {  // of two calls
    std::for_each(pairs.begin(), pairs.end(), [this](const Pair& pair) { LeaveOut(pair); });
    return false;
  }
  const auto differ = [](const Pair& pair) { return pair.difference.gap != Gap::kNone; };
  const bool differs = std::any_of(pairs.begin(), pairs.end(), differ);
  if (differs && NameOf(target_, call.target).find(".parameters_grad") != std::string_view::npos) {
    if (WalkGradientsOf(call)) return true;
    const FirstCause kept = out_;
    MeasureRows(call, &pairs);
    out_ = kept;
  }
  bool computed = false;
  const bool other_nodes = HasOtherNodes(call, pairs);
  for (const bool results : {false, true}) {
    if (results && JudgeDeferred(call, pairs, other_nodes)) return true;
    for (const Pair& pair : pairs) {
      if (IsResult(*pair.target) != results) continue;
      if (results && other_nodes) {
        LeaveOut(pair);
        continue;
      }
      computed = computed || (results && pair.target->kind == LeafKind::kTensor);
      if (differs && (results ? JudgeResult(call, pair, pairs) : JudgeInput(call, pair))) {
        return true;
      }
    }
  }
  NoteDeferred(call, pairs);
  ++calls_;
  if (computed && gap_begin_ != gap_end_) ++since_gap_;
  return false;
}

// An operator that seems to differ, in a module whose own parameters do: code that no call records
// has used them. Modules are recorded behind the calls in them.
bool CauseSearch::ReportWeightAround(const AlignedCall& call) {
  constexpr int kDeepest = 1000;
  std::string_view name = NameOf(target_, call.target);
  if (construct_ == nullptr || IsModuleName(name) || !name.ends_with(kForwardPart)) return false;
  for (int depth = 0; depth < kDeepest; ++depth) {
    const ConstructEntry* const entry = construct_->Find(name);
    if (entry == nullptr || entry->parent.empty()) return false;
    name = entry->parent;
    const int32_t module = target_origins_.Find(name);
    const auto both = std::ranges::find_if(alignment_.calls, [module](const AlignedCall& other) {
      return other.target == module && other.golden != kNoCall;
    });
    if (module == kNoCall || both == alignment_.calls.end()) continue;
    std::vector<Pair> pairs;
    const FirstCause kept = out_;
    MeasureRows(*both, &pairs);
    for (const Pair& pair : pairs) {
      out_ = kept;
      const bool differs =
          pair.target->section == Section::kParameters && pair.difference.gap == Gap::kNumbers;
      if (!differs) continue;
      out_.evidence.clear();
      out_.module.clear();
      if (JudgeParameter(*both, pair)) return true;
    }
    out_ = kept;
  }
  return false;
}

// Notes for the end of a walk without a finding.
void CauseSearch::Finish() {
  if (out_.values == 0) {
    out_.kind = CauseKind::kNotCompared;
  } else {
    out_.kind = out_.exact == out_.values ? CauseKind::kIdentical : CauseKind::kRounding;
  }
  if (!noted_.empty()) out_.evidence.push_back(noted_);
  if (comparison_.mode == Mode::kStatistics && out_.values > 0) {
    out_.evidence.emplace_back(
        "statistics do not show another order of the same numbers (task tensor or md5 does)");
  }
  out_.hides_elements = comparison_.mode == Mode::kStatistics && IsCoarse(coarsest_) &&
                        out_.kind == CauseKind::kRounding;
  if (alignment_.other_optimizer) {
    out_.evidence.emplace_back(
        "the optimizer makes other calls in the two runs (fused, foreach, loop), or updates "
        "weights in another order: the weights of the next step show whether it computes the same");
  }
}

FirstCause CauseSearch::Run() {
  for (size_t i = 0; i < alignment_.calls.size(); ++i) {
    const AlignedCall& call = alignment_.calls[i];
    if (call.target == kNoCall || call.golden == kNoCall) {
      if (gap_end_ != i || since_gap_ > 0) gap_begin_ = i;
      gap_end_ = i + 1;
      since_gap_ = 0;
      continue;
    }
    at_ = i;
    if (WalkCall(call)) {
      if (out_.kind == CauseKind::kOperator) ReportWeightAround(call);
      return std::move(out_);
    }
    // A result of another rank that never came has nothing behind it that could agree.
    if (since_gap_ >= kGapReach) CloseGap();
  }
  if (gap_begin_ != gap_end_ && since_gap_ == 0 && !IsEndAlike() && ReportGap({})) {
    return std::move(out_);
  }
  if (!alignment_.is_complete) {
    const AlignedCall last = alignment_.calls.empty() ? AlignedCall() : alignment_.calls.back();
    Report(CauseKind::kCalls, last, nullptr,
           "after this call the runs make different calls to the end");
    return std::move(out_);
  }
  Finish();
  return std::move(out_);
}

std::string_view CauseText(CauseKind kind) {
  static constexpr std::array<std::string_view, 15> kTexts = {"no difference",
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
                                                              "nothing was compared",
                                                              "another rank differs",
                                                              "optimizer differs"};
  return kTexts[static_cast<size_t>(kind)];
}

FirstCause FindFirstCause(const Comparison& comparison, const DumpFile& target,
                          const DumpFile& golden, const Alignment& alignment,
                          const ConstructFile* construct, const CauseOptions& options) {
  return CauseSearch(comparison, target, golden, alignment, construct, options).Run();
}

}  // namespace sonde::precision