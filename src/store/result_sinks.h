// Results in memory: as a table of values, for look-ups.
//
// One thread.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "store/result_info.h"
#include "store/result_table.h"

namespace sonde::store {

class TableSink final : public RowSink {
 public:
  explicit TableSink(const ResultInfo& result) {
    for (const ResultColumnInfo& column : result.columns) {
      ResultColumn& added = columns_.emplace_back();
      added.name = column.name;
      if (ResultSqlType(column.type) == "DOUBLE") added.values = std::vector<double>();
      if (ResultSqlType(column.type) == "VARCHAR") added.values = std::vector<std::string>();
    }
  }
  void Int(int64_t value) override { Put(value, false); }
  void Double(double value) override { Put(value, false); }
  void Text(std::string_view value) override { Put(std::string(value), false); }
  void Null() override {
    std::visit([](auto& values) { values.emplace_back(); }, columns_[next_].values);
    columns_[next_++].nulls.push_back(true);
  }
  void EndRow() override { next_ = 0; }
  ResultTable table() const {
    ResultTable table;
    for (const ResultColumn& column : columns_) {
      std::visit([&](const auto& values) { table.AddColumn(column.name, values, column.nulls); },
                 column.values);
    }
    return table;
  }

 private:
  template <class T>
  void Put(T value, bool is_null) {
    std::get<std::vector<T>>(columns_[next_].values).push_back(std::move(value));
    columns_[next_++].nulls.push_back(is_null);
  }
  std::vector<ResultColumn> columns_;
  size_t next_ = 0;
};

}  // namespace sonde::store
