// A small table of values by columns: results of queries and recipes, input of exporters and tests.
//
// Values, no connection to a store. One thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/check.h"

namespace sonde::store {

struct ResultColumn {
  std::string name;
  std::variant<std::vector<int64_t>, std::vector<double>, std::vector<std::string>> values;
  std::vector<bool> nulls;  // empty: none is NULL; else one a row

  size_t size() const {
    return std::visit([](const auto& list) { return list.size(); }, values);
  }
  bool IsNull(size_t row) const { return !nulls.empty() && nulls[row]; }
};

class ResultTable {
 public:
  ResultTable() = default;

  // All columns have the same length.
  template <class T>
  void AddColumn(std::string name, std::vector<T> values, std::vector<bool> nulls = {}) {
    CHECK(columns_.empty() || values.size() == rows(), "columns of a table have one length");
    CHECK(nulls.empty() || nulls.size() == values.size());
    columns_.push_back({std::move(name), std::move(values), std::move(nulls)});
  }

  size_t rows() const { return columns_.empty() ? 0 : columns_[0].size(); }
  const std::vector<ResultColumn>& columns() const { return columns_; }
  // -1 where there is none.
  int FindColumn(std::string_view name) const {
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i].name == name) return static_cast<int>(i);
    }
    return -1;
  }

  bool IsNull(size_t column, size_t row) const { return columns_[column].IsNull(row); }
  // The column must hold this type.
  int64_t Int(size_t column, size_t row) const { return Get<int64_t>(column)[row]; }
  double Double(size_t column, size_t row) const { return Get<double>(column)[row]; }
  const std::string& Text(size_t column, size_t row) const { return Get<std::string>(column)[row]; }
  template <class T>
  const std::vector<T>& Get(size_t column) const {
    const auto* values = std::get_if<std::vector<T>>(&columns_[column].values);
    CHECK(values != nullptr, "column of a result has another type");
    return *values;
  }

 private:
  std::vector<ResultColumn> columns_;
};

}  // namespace sonde::store
