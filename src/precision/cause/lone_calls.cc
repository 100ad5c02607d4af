// Calls that only one run makes, or that the two runs make in another order.
#include <algorithm>

#include "base/count_of.h"
#include "base/strings.h"
#include "precision/cause/cause_search.h"
#include "precision/cause/evidence.h"
#include "precision/compare/pairing.h"

namespace sonde::precision {

namespace {

using base::Concat;

std::string CallsText(size_t count) { return base::CountOf(count, "call"); }

}  // namespace

// Calls that one run lacks, behind which the other run's values differ.
bool CauseSearch::ReportGap(const AlignedCall& behind) {
  if (gap_begin_ == gap_end_) return false;
  size_t only_target = 0;
  size_t only_golden = 0;
  std::string place;
  AlignedCall at = alignment_.calls[gap_begin_];
  for (size_t i = gap_begin_; i < gap_end_; ++i) {
    const AlignedCall& call = alignment_.calls[i];
    if (call.target != kNoCall && call.golden != kNoCall) continue;
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
  std::string counts;
  if (only_golden > 0) counts += Concat(CallsText(only_golden), " only in the golden run");
  if (only_golden > 0 && only_target > 0) counts += ", ";
  if (only_target > 0) counts += Concat(CallsText(only_target), " only in the target");
  Report(CauseKind::kCalls, at, nullptr, Concat("the runs make different calls here: ", counts));
  out_.how = std::move(counts);
  out_.place = place;
  out_.module = ModuleOf(place);
  if (out_.module.empty() && at.target == kNoCall && golden_construct_ != nullptr) {
    out_.module = std::string(golden_construct_->ModuleOf(place));
  }
  // The search over ranks needs a place in the target's time.
  if (out_.target_call == kNoCall) out_.target_call = behind.target;
  return true;
}

// A module of one run only around calls of both, as wrappers are.
bool CauseSearch::IsWrapper(const AlignedCall& call) const {
  const bool ours = call.golden == kNoCall;
  const std::string_view module =
      ours ? NameOf(target_, call.target) : NameOf(golden_, call.golden);
  return IsModuleName(module) &&
         std::any_of(
             alignment_.calls.begin(), alignment_.calls.end(), [&](const AlignedCall& other) {
               if (other.target == kNoCall || other.golden == kNoCall) return false;
               return ours ? IsInside(NameOf(target_, other.target), module, construct_)
                           : IsInside(NameOf(golden_, other.golden), module, golden_construct_);
             });
}

// Nothing was called behind the last gap: whether both runs come to the same result in it, or do
// nothing in it but leave a wrapper.
bool CauseSearch::IsEndAlike() {
  const DumpRow* last_target = nullptr;
  const DumpRow* last_golden = nullptr;
  const auto result_of = [](const DumpFile& dump, int32_t at) -> const DumpRow* {
    for (const DumpRow& row : RowsOf(dump, at)) {
      if (IsResult(row) && row.kind == LeafKind::kTensor) return &row;
    }
    return nullptr;
  };
  for (size_t i = gap_begin_; i < gap_end_; ++i) {
    const AlignedCall& call = alignment_.calls[i];
    if ((call.target != kNoCall && call.golden != kNoCall) || IsWrapper(call)) continue;
    if (call.golden == kNoCall) last_target = result_of(target_, call.target);
    if (call.target == kNoCall) last_golden = result_of(golden_, call.golden);
    if (last_target == nullptr && last_golden == nullptr) return false;
  }
  if (last_target == nullptr && last_golden == nullptr) return true;
  if (last_target == nullptr || last_golden == nullptr) return false;
  const Difference difference = Measure(*last_target, *last_golden, nullptr, comparison_.mode);
  if (difference.gap == Gap::kNone) return true;
  const Operand operand = OperandOf(*last_golden);
  return difference.gap == Gap::kNumbers &&
         difference.length <= InputTolerance(operand, operand.unit, background_);
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
  for (auto i = static_cast<size_t>(call + 1); key != 0 && i < dump.apis().size(); ++i) {
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

int32_t CauseSearch::OtherWith(const DumpFile& dump, int32_t call, const DumpRow& like,
                               std::string_view suffix, std::string_view name) const {
  const int32_t later = LaterWith(dump, call, like, suffix, name);
  if (later != kNoCall) return later;
  const int32_t any = LaterWith(dump, kNoCall, like, suffix, name);
  return any == call ? kNoCall : any;
}

// Whether the tree puts the call below the module, whatever wraps it.
bool CauseSearch::IsInside(std::string_view api, std::string_view module,
                           const ConstructFile* tree) const {
  constexpr int kDeepest = 1000;
  const std::string plain = WithoutWrappers(module);
  for (int depth = 0; tree != nullptr && depth < kDeepest; ++depth) {
    const ConstructEntry* const entry = tree->Find(api);
    if (entry == nullptr || entry->parent.empty()) return false;
    api = entry->parent;
    if (api == module || (IsModuleName(api) && WithoutWrappers(api) == plain)) return true;
  }
  return false;
}

// A module whose results differ although its calls agree, of which one run makes others: those are
// the difference.
bool CauseSearch::ReportLoneCallsInside(const AlignedCall& call) {
  const std::string_view module = NameOf(target_, call.target);
  if (!IsModuleName(module) || module.find(".forward") == std::string_view::npos) return false;
  const auto is_lone_inside = [&](const AlignedCall& other) {
    if (other.target != kNoCall && other.golden != kNoCall) return false;
    return other.golden == kNoCall ? IsInside(NameOf(target_, other.target), module, construct_)
                                   : IsInside(NameOf(golden_, other.golden),
                                              NameOf(golden_, call.golden), golden_construct_);
  };
  size_t first = at_;
  size_t last = at_;
  for (size_t i = 0; i < at_; ++i) {
    if (!is_lone_inside(alignment_.calls[i])) continue;
    if (first == at_) first = i;
    last = i + 1;
  }
  if (first == at_) return false;
  gap_begin_ = first;
  gap_end_ = last;
  const std::string inside(module);
  if (!ReportGap(call)) return false;
  out_.module = inside;
  return true;
}

// Whether two calls of equal values were only made in another order: what the crossed calls gave is
// equal, and goes to the same call.
bool CauseSearch::AreInOtherOrder(const AlignedCall& call, int32_t in_target,
                                  int32_t in_golden) const {
  const auto result_of = [&](const DumpFile& dump, int32_t at) -> const DumpRow* {
    for (const DumpRow& row : RowsOf(dump, at)) {
      if (row.section == Section::kOutput && row.kind == LeafKind::kTensor) return &row;
    }
    return nullptr;
  };
  const auto consumer_of = [&](const DumpFile& dump, int32_t from, uint64_t key) {
    for (auto i = static_cast<size_t>(from) + 1; i < dump.apis().size(); ++i) {
      if (IsModuleName(dump.apis()[i].name)) continue;
      const auto rows = RowsOf(dump, static_cast<int32_t>(i));
      const bool takes = std::any_of(rows.begin(), rows.end(), [&](const DumpRow& row) {
        return row.section == Section::kInput && ValueKey(row, comparison_.mode) == key;
      });
      if (takes) return static_cast<int32_t>(i);
    }
    return kNoCall;
  };
  const auto crosses = [&](int32_t ours, int32_t theirs) {
    const DumpRow* const a = result_of(target_, ours);
    const DumpRow* const b = result_of(golden_, theirs);
    if (a == nullptr || b == nullptr) return false;
    const uint64_t key = ValueKey(*a, comparison_.mode);
    if (key == 0 || key != ValueKey(*b, comparison_.mode)) return false;
    const AlignedCall next = {consumer_of(target_, ours, key), consumer_of(golden_, theirs, key)};
    return next.target != kNoCall && next.golden != kNoCall &&
           std::any_of(alignment_.calls.begin(), alignment_.calls.end(),
                       [&](const AlignedCall& other) {
                         return other.target == next.target && other.golden == next.golden;
                       });
  };
  return crosses(call.target, in_golden) && crosses(in_target, call.golden);
}

// A weight that is another call's. Where both runs call it by the same name, or exchange two, the
// weights were put into other places; else calls were left out or added, and names with numbers
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
  if (in_golden != kNoCall && ours < theirs) {
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

}  // namespace sonde::precision
