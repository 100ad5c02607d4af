#include "report/csv_writer.h"

#include <algorithm>
#include <array>

#include "base/host/terminal_text.h"
#include "base/strings.h"
#include "report/character_set.h"

namespace sonde::report {

namespace {

using base::Concat;
using base::NumberBuffer;

constexpr CharacterSet kQuoted(",\"\r\n");

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

// '=', '+', '-' and '@' of the width of a Chinese letter.
constexpr auto kWideSigns = std::to_array<std::string_view>(
    {"\xef\xbc\x9d", "\xef\xbc\x8b", "\xef\xbc\x8d", "\xef\xbc\xa0"});

constexpr CharacterSet kCellDividers(";\t");
constexpr CharacterSet kMayHideOne = kCellDividers.AndUnprintable();

// Most texts have nothing that a formula or a command to a terminal needs.
bool MayRun(std::string_view text) {
  constexpr std::string_view kFronts = "=+-@ ";
  if (text.empty()) return false;
  return kFronts.find(text.front()) != std::string_view::npos || kMayHideOne.IsIn(text);
}

// What moves a cursor or hides text; ends of lines stay as they are.
std::string WithoutCommands(std::string_view text) {
  std::string shown;
  for (const std::string_view part : base::Split(text, '\r')) {
    if (!shown.empty() || part.data() != text.data()) shown += '\r';
    shown += base::ForTerminal(part);
  }
  return shown;
}

// Blanks and marks without a width, which some programs drop.
std::string_view WithoutBlanks(std::string_view text) {
  constexpr auto kBlanks = std::to_array<std::string_view>(
      {" ", "\xc2\xa0", "\xe3\x80\x80", "\xe2\x80\x8b", "\xe2\x80\x8c", "\xe2\x80\x8d",
       "\xe2\x81\xa0", "\xef\xbb\xbf"});
  for (;;) {
    const auto blank = std::ranges::find_if(kBlanks, [&](auto b) { return text.starts_with(b); });
    if (blank == kBlanks.end()) return text;
    text.remove_prefix(blank->size());
  }
}

// Digits, signs and the like: at worst a sum, which a spreadsheet may show.
bool IsOfNumbers(std::string_view part) {
  if (part.starts_with('+') || part.starts_with('-')) part.remove_prefix(1);
  if (part == "inf" || part == "nan" || part == "Infinity" || part == "NaN") return true;
  return part.find_first_not_of("0123456789.,eE%+- ") == std::string_view::npos;
}

bool BeginsFormula(std::string_view text) {
  // Programs of some countries drop blanks, and take wide letters for the usual ones.
  text = WithoutBlanks(text);
  if (std::ranges::any_of(kWideSigns, [&](auto sign) { return text.starts_with(sign); })) {
    return true;
  }
  if (text.size() < 2) return false;
  const bool is_signed = text[0] == '+' || text[0] == '-';
  if (!is_signed) return text[0] == '=' || text[0] == '@';
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(';', begin), text.size());
    if (!IsOfNumbers(text.substr(begin, end - begin))) return true;
    begin = end + 1;
  }
  return false;
}

}  // namespace

bool RunsInSpreadsheet(std::string_view text) {
  const bool is_blank_first = text.starts_with('\t') || text.starts_with('\r');
  return is_blank_first ? text.size() > 1 : BeginsFormula(text);
}

std::string WithoutFormulas(std::string_view foreign) {
  const std::string shown = WithoutCommands(foreign);
  const std::string_view text = shown;
  std::string harmless(RunsInSpreadsheet(text) ? "'" : "");
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = kCellDividers.FindIn(text, begin);
    if (begin > 0 && BeginsFormula(text.substr(begin, end - begin))) harmless += '\'';
    harmless += text.substr(begin, end - begin + 1);
    begin = end + 1;
  }
  return harmless;
}

std::string CsvCell(std::string_view text) {
  if (MayRun(text)) {
    const std::string harmless = WithoutFormulas(text);
    if (harmless != text) return CsvCell(harmless);
  }
  if (!kQuoted.IsIn(text)) return std::string(text);
  std::string cell(text.size() * 2 + 2, '\0');
  cell.resize(static_cast<size_t>(PutQuoted(text, cell.data()) - cell.data()));
  return cell;
}

void CsvWriter::Text(std::string_view text) {
  MayRun(text) ? RawText(WithoutFormulas(text)) : RawText(text);
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

void CsvWriter::RawText(std::string_view text) { kQuoted.IsIn(text) ? Quoted(text) : Plain(text); }

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
  buffer_.Append(line_end_ == LineEnd::kLf ? "\n" : "\r\n");
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
