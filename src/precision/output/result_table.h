// The result table as texts: columns and cells, the same for csv, xlsx and the store.
//
// Pure, any thread. Rows are indices into Comparison::rows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "precision/compare/comparison.h"
#include "precision/dump/stack_file.h"
#include "report/row_source.h"

namespace sonde::precision {

class ResultTable final : public report::RowSource {
 public:
  // `stack` may be null or absent: then there is no stack column. All must outlive the table.
  ResultTable(const Comparison& comparison, const StackFile* stack);

  const std::vector<std::string>& columns() const override { return columns_; }
  size_t row_count() const override { return comparison_.rows.size(); }
  const Comparison& comparison() const { return comparison_; }

  void Fill(size_t row, report::RowText* out) const override;
  std::vector<report::RowColour> Colours() const override;

 private:
  void FillMetrics(const ComparedRow& row, size_t index, report::RowText* out) const;
  void FillTail(const ComparedRow& row, size_t index, report::RowText* out) const;

  const Comparison& comparison_;
  const StackFile* stack_;
  std::vector<std::string> columns_;
  std::vector<std::string_view> api_of_first_row_;  // empty unless the first row of its API
};

// A statistic as the tables print it: `Nan`, ` inf`, else Python's text.
void AppendStatistic(const Value& value, std::string* out);

// A text from a dump. What a spreadsheet would run as a formula gets an apostrophe in front.
void AppendGuarded(std::string_view text, std::string* out);
bool IsFormulaLike(std::string_view text);

// One line for each tensor that was saved, as the reference logs them.
std::vector<std::string> TensorLog(const Comparison& comparison);

}  // namespace sonde::precision
