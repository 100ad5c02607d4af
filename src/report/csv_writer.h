// Writes CSV as Python's csv module does by default, the form of the ecosystem's files: comma,
// quotes only where needed and doubled inside, rows ended by CR LF, or by LF in tables of our own.
// Texts are harmless in a spreadsheet, since names come from programs and files of others.
//
//   CsvWriter csv(&file);
//   csv.Row({"Name", "Duration(us)"});
//   csv.Text(name); csv.Microseconds(dur_ns); csv.EndRow();
//   SONDE_RETURN_IF_ERROR(csv.Finish());   // then file.Commit()
//
// Threads: one.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/host/text_buffer.h"
#include "base/status.h"

namespace sonde::report {

// Whether a spreadsheet that opens the file would run the text: as a formula, or as a command that
// such a formula may hold. Signs before numbers, lists of them, percentages, inf and nan are none.
bool RunsInSpreadsheet(std::string_view text);
// With "'" before what would run, also behind ';' and tabs, and '?' for commands to a terminal.
std::string WithoutFormulas(std::string_view text);

// One cell as CsvWriter::Text writes it: quoted where needed, and harmless in a spreadsheet.
std::string CsvCell(std::string_view text);

class CsvWriter {
 public:
  // `file` may be null: then Take() returns the text.
  enum class LineEnd : uint8_t { kCrLf, kLf };
  explicit CsvWriter(base::AtomicFile* file, LineEnd line_end = LineEnd::kCrLf)
      : buffer_(file), file_(file), line_end_(line_end) {}

  void Text(std::string_view text);
  // As it is, also what a spreadsheet would run: only where the user asks for that.
  void RawText(std::string_view text);
  void Int(int64_t value);
  void Uint(uint64_t value);
  // As Python's repr(): "0.1", "3.0", "1e-05".
  void Double(double value);
  // 123456 ns as 123.456.
  void Microseconds(int64_t ns);
  // The same with a TAB behind, which keeps spreadsheets from rounding a time stamp.
  void MicrosecondsTab(int64_t ns);
  void Empty() { Plain({}); }
  void EndRow();

  // A whole row of texts.
  void Row(std::initializer_list<std::string_view> cells);
  template <class Range>
  void RowOf(const Range& cells) {
    for (const auto& cell : cells) Text(cell);
    EndRow();
  }

  // Writes the rest to the file. A row must not be open.
  Status Finish();
  std::string Take();

 private:
  // A cell that surely needs no quotes.
  void Plain(std::string_view text);
  void Quoted(std::string_view text);

  base::TextBuffer buffer_;
  base::AtomicFile* file_;
  LineEnd line_end_;
  uint64_t cells_in_row_ = 0;
  bool only_empty_ = true;
};

}  // namespace sonde::report
