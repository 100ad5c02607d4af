// Sums of matched operators by name, the base's names first, and their order in the sheets.
#pragma once

#include <algorithm>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compare/frame/sheet.h"
#include "compare/frame/side.h"

namespace sonde::compare {

// Sum: += of measure(side, op).
template <class Sum>
struct NamedSums {
  std::vector<std::pair<std::string_view, std::pair<Sum, Sum>>> rows;  // base, comparison
};

template <class Sum, class Measure>
NamedSums<Sum> SumByName(const Side& base, const Side& comparison,
                         std::span<const std::pair<int32_t, int32_t>> pairs,
                         const Measure& measure) {
  NamedSums<Sum> sums;
  std::unordered_map<std::string_view, size_t> places;
  const auto row_of = [&](std::string_view name) -> std::pair<Sum, Sum>& {
    const auto [place, is_new] = places.try_emplace(name, sums.rows.size());
    if (is_new) sums.rows.push_back({name, {}});
    return sums.rows[place->second].second;
  };
  for (const auto& [op, other] : pairs) {
    if (op != kNone) row_of(base.Name(base.OpAt(op).name)).first += measure(base, op);
  }
  for (const auto& [other, op] : pairs) {
    if (op == kNone) continue;
    row_of(comparison.Name(comparison.OpAt(op).name)).second += measure(comparison, op);
  }
  return sums;
}

// By the difference, which stands in the last column but one, the largest first; then numbers them.
inline void SortByDifference(Sheet& sheet) {
  const auto diff = [](const Row& row) {
    return std::get<double>(row.cells[row.cells.size() - 2]);
  };
  std::stable_sort(sheet.rows.begin(), sheet.rows.end(),
                   [&](const Row& a, const Row& b) { return diff(a) > diff(b); });
  NumberRows(sheet);
}

}  // namespace sonde::compare
