// Searches from every hint, forwards and backwards, with rows that are equal.
#include "importers/common/search_from.h"

#include <gtest/gtest.h>

#include <vector>

namespace sonde::importers {
namespace {

TEST(SearchFromTest, EqualsThePlainSearchFromEveryHint) {
  for (size_t count = 0; count < 20; ++count) {
    std::vector<int> rows;
    for (size_t i = 0; i < count; ++i) rows.push_back(static_cast<int>(i / 2 * 3));
    for (int value = -1; value < 35; ++value) {
      const auto is_before = [&](int row) { return row < value; };
      const auto expected =
          static_cast<size_t>(std::lower_bound(rows.begin(), rows.end(), value) - rows.begin());
      for (size_t hint = 0; hint <= count; ++hint) {
        ASSERT_EQ(SearchFrom(rows, hint, is_before), expected)
            << count << " " << value << " " << hint;
      }
    }
  }
}

}  // namespace
}  // namespace sonde::importers
