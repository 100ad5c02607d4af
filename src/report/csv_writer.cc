#include "report/csv_writer.h"

#include <algorithm>

#include "base/strings.h"

namespace sonde::report {

namespace {

using base::Concat;
using base::NumberBuffer;

bool NeedsQuotes(std::string_view text) {
  return text.find_first_of(",\"\r\n") != std::string_view::npos;
}

// `out` has room for twice the text and its quotes. Returns the end.
char* PutQuoted(std::string_view text, char* out) {
  *out++ = '"';
  for (const char c : text) {
    if (c == '"') *out++ = '"';
    *out++ = c;
  }
  *out++ = '"';
  return out;
}

// Digits, signs and the like: at worst a sum, which a spreadsheet may show.
bool IsOfNumbers(std::string_view part) {
  if (part.starts_with('+') || part.starts_with('-')) part.remove_prefix(1);
  if (part == "inf" || part == "nan" || part == "Infinity" || part == "NaN") return true;
  return part.find_first_not_of("0123456789.,eE%+- ") == std::string_view::npos;
}

}  // namespace

bool RunsInSpreadsheet(std::string_view text) {
  if (text.size() < 2) return false;
  const bool is_signed = text[0] == '+' || text[0] == '-';
  if (!is_signed) return text[0] == '=' || text[0] == '@' || text[0] == '\t' || text[0] == '\r';
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(';', begin), text.size());
    if (!IsOfNumbers(text.substr(begin, end - begin))) return true;
    begin = end + 1;
  }
  return false;
}

std::string CsvCell(std::string_view text) {
  if (RunsInSpreadsheet(text)) return CsvCell(Concat("'", text));
  if (!NeedsQuotes(text)) return std::string(text);
  std::string cell(text.size() * 2 + 2, '\0');
  cell.resize(static_cast<size_t>(PutQuoted(text, cell.data()) - cell.data()));
  return cell;
}

void CsvWriter::ForeignText(std::string_view text) {
  Text(RunsInSpreadsheet(text) ? Concat("'", text) : std::string(text));
}

void CsvWriter::Plain(std::string_view text) {
  if (cells_in_row_ > 0) buffer_.Append(',');
  buffer_.Append(text);
  ++cells_in_row_;
  only_empty_ = only_empty_ && text.empty();
}

void CsvWriter::Quoted(std::string_view text) {
  if (cells_in_row_ > 0) buffer_.Append(',');
  char* const begin = buffer_.Reserve(text.size() * 2 + 2);
  buffer_.Advance(static_cast<size_t>(PutQuoted(text, begin) - begin));
  ++cells_in_row_;
  only_empty_ = false;
}

void CsvWriter::Text(std::string_view text) { NeedsQuotes(text) ? Quoted(text) : Plain(text); }

void CsvWriter::Int(int64_t value) {
  NumberBuffer number;
  Plain(base::FormatInt64(value, number));
}

void CsvWriter::Uint(uint64_t value) {
  NumberBuffer number;
  Plain(base::FormatUint64(value, number));
}

void CsvWriter::Double(double value) {
  NumberBuffer number;
  Plain(base::FormatPythonDouble(value, number));
}

void CsvWriter::Microseconds(int64_t ns) {
  NumberBuffer number;
  Plain(base::FormatNsAsMicroseconds(ns, number));
}

void CsvWriter::MicrosecondsTab(int64_t ns) {
  Microseconds(ns);
  buffer_.Append('\t');
}

void CsvWriter::EndRow() {
  // One empty cell alone would read back as no row at all.
  if (cells_in_row_ == 1 && only_empty_) buffer_.Append("\"\"");
  buffer_.Append("\r\n");
  cells_in_row_ = 0;
  only_empty_ = true;
}

void CsvWriter::Row(std::initializer_list<std::string_view> cells) { RowOf(cells); }

Status CsvWriter::Finish() {
  CHECK(cells_in_row_ == 0, "CSV ends inside a row");
  return file_ == nullptr ? Status::Ok() : buffer_.Flush();
}

std::string CsvWriter::Take() {
  CHECK(cells_in_row_ == 0, "CSV ends inside a row");
  return buffer_.Take();
}

}  // namespace sonde::report
