// CSV files of Ascend's profilers, cell by cell: commas and line breaks inside quoted cells, CR LF
// and LF, a byte order mark, empty lines, a file that was cut off in the middle of a cell. The
// header is the first line that is not empty.
//
// Cells are returned without their quotes and with everything else (a TAB behind a time too). Cost:
// about 1 GB/s. Pure, any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace sonde::importers {

struct CsvFacts {
  std::vector<std::string> header;
  bool has_byte_order_mark = false;
  std::string_view line_end = "\n";  // of most lines: CR LF, LF or CR
  bool ends_with_line_end = true;
  int64_t rows = 0;             // without the header and empty lines
  int64_t ragged_rows = 0;      // with more or fewer cells than the header
  int64_t mixed_line_ends = 0;  // lines with another end than most
  int64_t unusual_quotes = 0;   // cells in quotes that need none, or quotes outside
  int64_t empty_lines = 0;      // left out
  bool is_cut_off = false;      // ends inside a quoted cell
};

// Cells of a row; there may be more or fewer than the header has.
using CsvRow = std::vector<std::string_view>;

// Names of the columns; stops behind them.
std::vector<std::string> ReadCsvHeader(std::string_view text);

// Calls `take` for each row behind the header. Views live until `take` returns.
CsvFacts ReadCsv(std::string_view text,
                 const std::function<void(const CsvRow&, int64_t position)>& take);

}  // namespace sonde::importers
