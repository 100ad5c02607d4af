// Sorts what is mostly in order, as std::stable_sort does: tables come in the order of time, or a
// few such lists one behind the other, and moving large rows about costs most. Pure, any thread.
#pragma once

#include <algorithm>
#include <vector>

namespace sonde::compare {

template <class Row, class Before>
void SortRuns(std::vector<Row>& rows, const Before& before) {
  constexpr int kFew = 8;
  auto end = std::is_sorted_until(rows.begin(), rows.end(), before);
  for (int runs = 1; end != rows.end(); ++runs) {
    if (runs == kFew) {
      std::stable_sort(rows.begin(), rows.end(), before);
      return;
    }
    const auto next = std::is_sorted_until(end, rows.end(), before);
    std::inplace_merge(rows.begin(), end, next, before);
    end = next;
  }
}

}  // namespace sonde::compare
