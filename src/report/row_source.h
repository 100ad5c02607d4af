// A long table as texts, row by row: the same for csv files, workbooks and databases.
//
// Pure; Fill may be called by several threads at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sonde::report {

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

enum class RowColour : uint8_t { kNone, kYellow, kRed };

class RowSource {
 public:
  RowSource() = default;
  RowSource(const RowSource&) = delete;
  RowSource& operator=(const RowSource&) = delete;
  virtual ~RowSource() = default;

  virtual const std::vector<std::string>& columns() const = 0;
  virtual size_t row_count() const = 0;
  // Replaces `out` by the cells of the row, in column order.
  virtual void Fill(size_t row, RowText* out) const = 0;
  // Of workbooks: one a row.
  virtual std::vector<RowColour> Colours() const = 0;
};

}  // namespace sonde::report
