// What the walk knows of the values that a call got: which types they came through, how they
// compared.
#include <algorithm>

#include "base/strings.h"
#include "precision/cause/cause_search.h"

namespace sonde::precision {
namespace {

using base::Concat;

constexpr std::string_view kUnseenOrder =
    "what it got may be another order of the same numbers (a transposed weight, rows or channels "
    "exchanged, a mask or indices moved): statistics do not show it (dump with task tensor or md5 "
    "to find out)";

bool IsCudaText(const DumpRow& row) {
  return row.stats[kMax].kind() == Value::Kind::kText && row.stats[kMax].text().starts_with("cuda");
}

}  // namespace

// The coarsest type that a value of the golden run came through: its own, that of the value it is
// an unrecorded cast of, or what the call that gave it took.
double CauseSearch::UnitThrough(const DumpRow& golden_row, int32_t golden_call) {
  const double own = UnitRoundoff(golden_row.dtype);
  if (own == 0) return 0;
  const double cast = golden_origins_.UnitOfCast(golden_row);
  const int32_t producer = golden_origins_.Producer(golden_row, golden_call);
  const auto found = through_.find(producer);
  return std::max({own, cast, found == through_.end() ? 0.0 : found->second});
}

// "its 3 inputs: 2 equal, 1 within rounding".
std::string CauseSearch::InputsText(const AlignedCall& call, const std::vector<Pair>& pairs) {
  size_t equal = 0;
  size_t rounded = 0;
  size_t unread = 0;
  std::vector<Pair> backward;  // of a parameter's gradient
  const AlignedCall behind = BackwardOf(call);
  if (behind.target != kNoCall && behind.golden != kNoCall) {
    const FirstCause kept = out_;
    MeasureRows(behind, &backward);
    out_ = kept;
  }
  for (const Pair& pair : backward.empty() ? pairs : backward) {
    if (IsResult(*pair.target) || pair.target->kind != LeafKind::kTensor) continue;
    const bool same = pair.difference.gap == Gap::kNone;
    if (!same && IsUnwritten(call, pair)) {
      ++unread;
    } else {
      (same ? equal : rounded) += 1;
    }
  }
  const size_t all = equal + rounded + unread;
  if (all == 0) return "its inputs are not recorded";
  std::string parts;
  const auto add = [&](size_t count, std::string_view word) {
    if (count == 0) return;
    if (!parts.empty()) parts += ", ";
    if (count != all) parts += Concat(std::to_string(count), " ");
    parts += word;
  };
  add(equal, "equal");
  add(rounded, "within rounding");
  add(unread, "overwritten by the call");
  return all == 1 ? Concat("its input: ", parts)
                  : Concat("its ", std::to_string(all), " inputs: ", parts);
}

void CauseSearch::NoteUnseenOrder(const AlignedCall& call, const std::vector<Pair>& pairs) {
  if (comparison_.mode != Mode::kStatistics) return;
  const bool unseen = std::any_of(pairs.begin(), pairs.end(), [&](const Pair& pair) {
    const Operand operand = OperandOf(*pair.golden);
    return !IsResult(*pair.target) && operand.is_floating && operand.elements > 1;
  });
  const bool gradient =
      NameOf(target_, call.target).find(".parameters_grad") != std::string_view::npos;
  if (unseen || gradient) out_.evidence.emplace_back(kUnseenOrder);
}

bool CauseSearch::IsCuda() {
  if (is_cuda_ < 0) {
    const auto has_cuda = [](const DumpFile& dump) {
      return std::any_of(dump.rows().begin(), dump.rows().end(), IsCudaText);
    };
    is_cuda_ = has_cuda(target_) && has_cuda(golden_) ? 1 : 0;
  }
  return is_cuda_ == 1;
}

}  // namespace sonde::precision
