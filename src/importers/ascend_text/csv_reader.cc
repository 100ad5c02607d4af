#include "importers/ascend_text/csv_reader.h"

#include <deque>

namespace sonde::importers {
namespace {

class Reader {
 public:
  Reader(std::string_view text, CsvFacts& facts) : text_(text), facts_(facts) {}

  // False at the end. `row` is empty for an empty line.
  bool Next(CsvRow& row) {
    row.clear();
    unescaped_.clear();
    if (at_ >= text_.size()) return false;
    while (true) {
      row.push_back(Cell());
      if (at_ >= text_.size()) {
        facts_.ends_with_line_end = false;
        break;
      }
      const char c = text_[at_++];
      if (c == ',') continue;
      if (c == '\r' && at_ < text_.size() && text_[at_] == '\n') {
        ++at_;
        ++crlf_;
      } else {
        ++lf_;
      }
      break;
    }
    if (row.size() == 1 && row[0].empty()) row.clear();
    return true;
  }
  size_t position() const { return at_; }
  void Skip(size_t bytes) { at_ += bytes; }
  int64_t crlf() const { return crlf_; }
  int64_t lf() const { return lf_; }

 private:
  static bool IsEnd(char c) { return c == ',' || c == '\n' || c == '\r'; }

  std::string_view Cell() {
    if (at_ < text_.size() && text_[at_] == '"') return QuotedCell();
    const size_t begin = at_;
    while (at_ < text_.size() && !IsEnd(text_[at_])) {
      if (text_[at_] == '"') ++facts_.unusual_quotes;
      ++at_;
    }
    return text_.substr(begin, at_ - begin);
  }

  std::string_view QuotedCell() {
    const size_t begin = ++at_;
    bool needs_copy = false;
    bool needs_quotes = false;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      needs_quotes |= IsEnd(c);
      if (c == '"') {
        if (at_ + 1 >= text_.size() || text_[at_ + 1] != '"') break;
        needs_copy = true;
        ++at_;
      }
      ++at_;
    }
    const std::string_view raw = text_.substr(begin, at_ - begin);
    if (at_ >= text_.size()) {
      facts_.is_cut_off = true;
    } else {
      ++at_;  // the closing quote
    }
    if (!needs_copy && !needs_quotes) ++facts_.unusual_quotes;
    // What follows a closing quote belongs to the cell, though it should not be there.
    const size_t tail = at_;
    while (at_ < text_.size() && !IsEnd(text_[at_])) ++at_;
    if (!needs_copy && at_ == tail) return raw;
    if (at_ != tail) ++facts_.unusual_quotes;
    std::string& cell = unescaped_.emplace_back();
    for (size_t i = 0; i < raw.size(); ++i) {
      cell += raw[i];
      if (raw[i] == '"') ++i;  // the second of a pair
    }
    cell += text_.substr(tail, at_ - tail);
    return cell;
  }

  std::string_view text_;
  CsvFacts& facts_;
  size_t at_ = 0;
  int64_t crlf_ = 0;
  int64_t lf_ = 0;
  std::deque<std::string> unescaped_;  // of the current row
};

}  // namespace

CsvFacts ReadCsv(std::string_view text,
                 const std::function<void(const CsvRow&, int64_t position)>& take) {
  CsvFacts facts;
  Reader reader(text, facts);
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (text.starts_with(kMark)) {
    facts.has_byte_order_mark = true;
    reader.Skip(kMark.size());
  }
  CsvRow row;
  if (!reader.Next(row)) return facts;
  for (const std::string_view cell : row) facts.header.emplace_back(cell);
  while (true) {
    const auto position = static_cast<int64_t>(reader.position());
    if (!reader.Next(row)) break;
    if (row.empty()) continue;
    ++facts.rows;
    if (row.size() != facts.header.size()) ++facts.ragged_rows;
    take(row, position);
  }
  facts.uses_crlf = reader.crlf() > reader.lf();
  facts.mixed_line_ends = facts.uses_crlf ? reader.lf() : reader.crlf();
  return facts;
}

}  // namespace sonde::importers
