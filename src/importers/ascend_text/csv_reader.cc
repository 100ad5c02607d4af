#include "importers/ascend_text/csv_reader.h"

#include <algorithm>
#include <deque>
#include <utility>

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
        ++(c == '\r' ? cr_ : lf_);
      }
      break;
    }
    if (row.size() == 1 && row[0].empty()) row.clear();
    if (row.empty()) ++facts_.empty_lines;
    return true;
  }
  // Behind the last line.
  void CountLineEnds() const {
    const int64_t most = std::max({crlf_, lf_, cr_});
    facts_.line_end = most == crlf_ && most > lf_ ? "\r\n" : most == lf_ ? "\n" : "\r";
    facts_.mixed_line_ends = crlf_ + lf_ + cr_ - most;
  }
  size_t position() const { return at_; }
  void Skip(size_t bytes) { at_ += bytes; }

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
    // Text behind a closing quote is invalid, but taken as part of the cell.
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
  int64_t cr_ = 0;
  std::deque<std::string> unescaped_;  // of the current row
};

// Up to the end of the header; false where there is none.
bool ReadHeader(std::string_view text, Reader& reader, CsvFacts& facts, CsvRow& row) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (text.starts_with(kMark)) {
    facts.has_byte_order_mark = true;
    reader.Skip(kMark.size());
  }
  while (row.empty()) {
    if (!reader.Next(row)) return false;
  }
  for (const std::string_view cell : row) facts.header.emplace_back(cell);
  return true;
}

}  // namespace

std::vector<std::string> ReadCsvHeader(std::string_view text) {
  CsvFacts facts;
  Reader reader(text, facts);
  CsvRow row;
  ReadHeader(text, reader, facts, row);
  return std::move(facts.header);
}

CsvFacts ReadCsv(std::string_view text,
                 const std::function<void(const CsvRow&, int64_t position)>& take) {
  CsvFacts facts;
  Reader reader(text, facts);
  CsvRow row;
  if (!ReadHeader(text, reader, facts, row)) return facts;
  while (true) {
    const auto position = static_cast<int64_t>(reader.position());
    if (!reader.Next(row)) break;
    if (row.empty()) continue;
    ++facts.rows;
    if (row.size() != facts.header.size()) ++facts.ragged_rows;
    take(row, position);
  }
  reader.CountLineEnds();
  return facts;
}

}  // namespace sonde::importers
