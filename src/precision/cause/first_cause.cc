#include "precision/cause/first_cause.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/strings.h"
#include "precision/cause/cause_search.h"
#include "precision/cause/evidence.h"
#include "precision/compare/pairing.h"

namespace sonde::precision {
namespace {

using base::Concat;

// Statistics are sums in the precision of their kernel: two devices may round them otherwise.
constexpr double kStatisticRounding = 8 * 0x1p-24;

}  // namespace

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
  if (!noted_.empty()) out_.evidence.push_back(noted_);
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
  std::string why = "the runs make different calls here: ";
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

// Values computed after it agreed. A layer that is left out may do no more to the next ones than
// rounding does, where types are narrow: its weights show it later.
void CauseSearch::CloseGap() {
  const bool has_module = std::any_of(
      alignment_.calls.begin() + static_cast<ptrdiff_t>(gap_begin_),
      alignment_.calls.begin() + static_cast<ptrdiff_t>(gap_end_), [this](const AlignedCall& call) {
        return IsModuleName(call.golden == kNoCall ? NameOf(target_, call.target)
                                                   : NameOf(golden_, call.golden));
      });
  if (has_module && module_gap_begin_ == module_gap_end_) {
    module_gap_begin_ = gap_begin_;
    module_gap_end_ = gap_end_;
  }
  gap_begin_ = gap_end_;
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
  if (module_gap_begin_ != module_gap_end_) {
    gap_begin_ = module_gap_begin_;
    gap_end_ = module_gap_end_;
    ReportGap(call);
    out_.evidence.push_back(std::move(why));
    return true;
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

bool CauseSearch::WalkCall(const AlignedCall& call) {
  std::vector<Pair>& pairs = pairs_;
  has_numbers_ = false;
  MeasureRows(call, &pairs);
  const bool differs = std::any_of(pairs.begin(), pairs.end(), [](const Pair& pair) {
    return pair.difference.gap != Gap::kNone;
  });
  bool computed = false;
  const bool other_nodes = HasOtherNodes(call, pairs);
  for (const bool results : {false, true}) {
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
    if (since_gap_ >= kGapReach) CloseGap();
  }
  if (gap_begin_ != gap_end_ && since_gap_ == 0 && ReportGap({})) return std::move(out_);
  if (!alignment_.is_complete) {
    const AlignedCall last = alignment_.calls.empty() ? AlignedCall() : alignment_.calls.back();
    Report(CauseKind::kCalls, last, nullptr,
           "after this call the runs make different calls to the end");
    return std::move(out_);
  }
  if (out_.values == 0) {
    out_.kind = CauseKind::kNotCompared;
  } else {
    out_.kind = out_.exact == out_.values ? CauseKind::kIdentical : CauseKind::kRounding;
  }
  if (!noted_.empty()) out_.evidence.push_back(noted_);
  return std::move(out_);
}

std::string_view CauseText(CauseKind kind) {
  static constexpr std::array<std::string_view, 14> kTexts = {"no difference",
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
                                                              "another rank differs"};
  return kTexts[static_cast<size_t>(kind)];
}

FirstCause FindFirstCause(const Comparison& comparison, const DumpFile& target,
                          const DumpFile& golden, const Alignment& alignment,
                          const ConstructFile* construct, const CauseOptions& options) {
  return CauseSearch(comparison, target, golden, alignment, construct, options).Run();
}

}  // namespace sonde::precision