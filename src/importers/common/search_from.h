// A binary search that begins where the last one ended: for many searches in mostly ascending
// order.
//
// Costs the logarithm of the distance, and touches memory near it only. Pure.
#pragma once

#include <algorithm>
#include <cstddef>

namespace sonde::importers {

// The first row for which is_before(row) is false; `hint`: any index, up to rows.size().
template <class Rows, class IsBefore>
size_t SearchFrom(const Rows& rows, size_t hint, const IsBefore& is_before) {
  size_t low = 0;             // all before are
  size_t high = rows.size();  // and none from here on
  if (hint > 0 && !is_before(rows[hint - 1])) {
    high = hint - 1;
    for (size_t step = 1; high >= step; step *= 2) {
      if (is_before(rows[high - step])) {
        low = high - step + 1;
        break;
      }
      high -= step;
    }
  } else {
    low = hint;
    for (size_t step = 1; low + step <= rows.size(); step *= 2) {
      if (!is_before(rows[low + step - 1])) {
        high = low + step - 1;
        break;
      }
      low += step;
    }
  }
  const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(low);
  const auto end = rows.begin() + static_cast<std::ptrdiff_t>(high);
  return static_cast<size_t>(std::partition_point(begin, end, is_before) - rows.begin());
}

}  // namespace sonde::importers
