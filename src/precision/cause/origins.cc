#include "precision/cause/origins.h"

#include <algorithm>

#include "precision/cause/operand.h"

namespace sonde::precision {

void Origins::IndexValues() {
  if (has_values_) return;
  has_values_ = true;
  for (const DumpRow& row : dump_.rows()) {
    if (row.section != Section::kOutput && row.section != Section::kParameters) continue;
    const uint64_t key = ValueKey(row, mode_);
    if (key == 0) continue;
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

const DumpRow* Origins::ParameterOf(const DumpRow& row) {
  IndexValues();
  const auto found = parameters_.find(ValueKey(row, mode_));
  return found == parameters_.end() || found->second->shape != row.shape ? nullptr : found->second;
}

int32_t Origins::Find(std::string_view api) {
  IndexNames();
  const auto found = names_.find(api);
  return found == names_.end() ? kNoCall : found->second;
}

}  // namespace sonde::precision
