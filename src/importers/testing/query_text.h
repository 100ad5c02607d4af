// Answers of a store as text, for tests.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "store/store.h"

namespace sonde::importers::testing {

inline std::string CellText(const store::ResultTable& table, size_t column, size_t row) {
  if (table.IsNull(column, row)) return "-";
  const auto& values = table.columns()[column].values;
  if (std::holds_alternative<std::vector<int64_t>>(values)) {
    return std::to_string(table.Int(column, row));
  }
  if (std::holds_alternative<std::vector<double>>(values)) {
    return std::to_string(table.Double(column, row));
  }
  return table.Text(column, row);
}

// All cells of a small result, joined by blanks, each row ended by a newline. The test fails where
// the query does.
inline std::string QueryText(const store::Store& store, const std::string& sql) {
  const auto result = store.Query(sql);
  EXPECT_TRUE(result.ok()) << result.status().message();
  if (!result.ok()) return "";
  std::string text;
  for (size_t row = 0; row < result->rows(); ++row) {
    for (size_t column = 0; column < result->columns().size(); ++column) {
      if (column > 0) text += ' ';
      text += CellText(*result, column, row);
    }
    text += '\n';
  }
  return text;
}

}  // namespace sonde::importers::testing
