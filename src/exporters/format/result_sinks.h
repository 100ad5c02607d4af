// Results by their declaration (store/result_info.h) as csv and as sheets of a workbook.
//
// The first row names the columns. Pure, one thread.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "store/result_info.h"

namespace sonde::exporters {

// Lines end in LF.
class CsvSink final : public store::RowSink {
 public:
  explicit CsvSink(const store::ResultInfo& result) {
    for (const auto& column : result.columns) CsvSink::Text(column.name);
    CsvSink::EndRow();
  }
  void Int(int64_t value) override { Add(std::to_string(value)); }
  void Double(double value) override { Add(base::PythonDoubleText(value)); }
  void Text(std::string_view value) override;
  void Null() override { Add(""); }
  void EndRow() override {
    text_ += '\n';
    is_first_ = true;
  }
  std::string Take() { return std::move(text_); }

 private:
  void Add(std::string_view cell) {
    if (!std::exchange(is_first_, false)) text_ += ',';
    text_ += cell;
  }
  std::string text_;
  bool is_first_ = true;
};

// A sheet of a workbook.
struct Sheet {
  std::string name;
  std::vector<std::vector<std::string>> rows;
};

// 6 decimals.
std::string NumberCell(double value);

class SheetSink final : public store::RowSink {
 public:
  SheetSink(std::string name, const store::ResultInfo& result) {
    sheet_.name = std::move(name);
    for (const store::ResultColumnInfo& column : result.columns) cells_.emplace_back(column.name);
    SheetSink::EndRow();
  }
  void Int(int64_t value) override { cells_.push_back(std::to_string(value)); }
  void Double(double value) override { cells_.push_back(NumberCell(value)); }
  void Text(std::string_view value) override { cells_.emplace_back(value); }
  void Null() override { cells_.emplace_back(); }
  void EndRow() override { sheet_.rows.push_back(std::exchange(cells_, {})); }
  Sheet Take() { return std::move(sheet_); }

 private:
  Sheet sheet_;
  std::vector<std::string> cells_;
};

}  // namespace sonde::exporters
