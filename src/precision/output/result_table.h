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

namespace sonde::precision {

// The cells of one row, one behind the other in one text. Reusable.
class RowText {
 public:
  void Clear() {
    text_.clear();
    ends_.clear();
  }
  // The text under construction: append to it, then EndCell().
  std::string* text() { return &text_; }
  void EndCell() { ends_.push_back(static_cast<uint32_t>(text_.size())); }
  void Add(std::string_view cell) {
    text_.append(cell);
    EndCell();
  }
  size_t size() const { return ends_.size(); }
  std::string_view cell(size_t i) const {
    const uint32_t begin = i == 0 ? 0 : ends_[i - 1];
    return std::string_view(text_).substr(begin, ends_[i] - begin);
  }

 private:
  std::string text_;
  std::vector<uint32_t> ends_;
};

class ResultTable {
 public:
  // `stack` may be null or absent: then there is no stack column. All must outlive the table.
  ResultTable(const Comparison& comparison, const StackFile* stack);

  const std::vector<std::string>& columns() const { return columns_; }
  size_t row_count() const { return comparison_.rows.size(); }
  const Comparison& comparison() const { return comparison_; }

  // Replaces `out` by the cells of the row, in column order.
  void Fill(size_t row, RowText* out) const;

 private:
  void FillMetrics(const ComparedRow& row, size_t index, RowText* out) const;
  void FillTail(const ComparedRow& row, size_t index, RowText* out) const;

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

}  // namespace sonde::precision
