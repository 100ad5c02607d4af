#include "precision/cause/origins.h"

#include <algorithm>
#include <bit>

#include "precision/cause/operand.h"

namespace sonde::precision {

void Origins::IndexValues() {
  if (has_values_) return;
  has_values_ = true;
  for (const DumpRow& row : dump_.rows()) {
    if (row.section != Section::kOutput && row.section != Section::kParameters) continue;
    const uint64_t key = ValueKey(row, mode_);
    if (key == 0) continue;
    if (IsConversion(dump_.apis()[row.api].name)) continue;  // what it was made from gave them
    if (row.section == Section::kParameters) {
      parameters_.emplace(key, &row);
    } else {
      std::vector<int32_t>& calls = producers_[key];
      if (calls.empty() || calls.back() != static_cast<int32_t>(row.api)) {
        calls.push_back(static_cast<int32_t>(row.api));
      }
    }
  }
}

void Origins::IndexNames() {
  if (!names_.empty()) return;
  for (size_t i = 0; i < dump_.apis().size(); ++i) {
    names_.emplace(dump_.apis()[i].name, static_cast<int32_t>(i));
  }
}

int32_t Origins::Producer(const DumpRow& row, int32_t call) {
  IndexValues();
  const auto found = producers_.find(ValueKey(row, mode_));
  if (found == producers_.end()) return kNoCall;
  const auto behind = std::lower_bound(found->second.begin(), found->second.end(), call);
  return behind == found->second.begin() ? kNoCall : *(behind - 1);
}

namespace {

// A cast to a finer type keeps the number of elements, the largest and the smallest. 0: no key.
uint64_t CastKey(const DumpRow& row) {
  const Operand operand = OperandOf(row);
  if (!operand.is_floating || operand.elements < 2 || !row.stats[kMax].IsNumber() ||
      !row.stats[kMin].IsNumber()) {
    return 0;
  }
  uint64_t key = base::HashCombine(1, static_cast<uint64_t>(operand.elements));
  key = base::HashCombine(key, std::bit_cast<uint64_t>(row.stats[kMax].AsDouble() + 0.0));
  return base::HashCombine(key, std::bit_cast<uint64_t>(row.stats[kMin].AsDouble() + 0.0));
}

}  // namespace

void Origins::IndexCoarse() {
  constexpr double kFloat32 = 0x1p-24;
  if (has_coarse_) return;
  has_coarse_ = true;
  for (const DumpRow& row : dump_.rows()) {
    if (row.kind != LeafKind::kTensor || UnitRoundoff(row.dtype) <= kFloat32) continue;
    const uint64_t key = CastKey(row);
    if (key == 0) continue;
    double& unit = coarse_[key];
    unit = std::max(unit, UnitRoundoff(row.dtype));
  }
}

double Origins::UnitOfCast(const DumpRow& row) {
  IndexCoarse();
  if (coarse_.empty()) return 0;
  const auto found = coarse_.find(CastKey(row));
  return found == coarse_.end() ? 0 : found->second;
}

const DumpRow* Origins::ParameterOf(const DumpRow& row) {
  IndexValues();
  const auto found = parameters_.find(ValueKey(row, mode_));
  // A view of it has its values in another shape.
  const bool fits =
      found != parameters_.end() && OperandOf(*found->second).elements == OperandOf(row).elements;
  return fits ? found->second : nullptr;
}

int32_t Origins::Find(std::string_view api) {
  IndexNames();
  const auto found = names_.find(api);
  return found == names_.end() ? kNoCall : found->second;
}

}  // namespace sonde::precision
