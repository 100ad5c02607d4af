// What the search for the first cause says of each row: columns cause, explained and ratio.
//
// Pure, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "precision/cause/first_cause.h"
#include "precision/compare/comparison.h"

namespace sonde::precision {

struct RowCause {
  std::string_view cause;  // that of the finding, "rounding only", "behind the first difference",
                           // "no difference"
  double distance = 0;     // of the two values, or its lower bound
  double explained = -1;   // how much rounding explains; -1: nothing was to be explained
  double ratio = -1;       // distance / explained; -1: unknown
};

// One for each row; what only the golden run has is not compared.
std::vector<RowCause> RowCausesOf(const Comparison& comparison, const FirstCause& cause);

// The row that a finding is about: of a call the first. None where nothing differs.
std::optional<uint32_t> RowOfFinding(const Comparison& comparison, const FirstCause& cause);

// The rows whose values differ, as csv: NPU Name, Bench Name, cause, distance, explained, ratio.
Status WriteRowCauses(const Comparison& comparison, const std::vector<RowCause>& causes,
                      const std::string& path);

}  // namespace sonde::precision
