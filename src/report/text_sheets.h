// Writes texts as Excel workbooks: a long table with coloured rows, or sheets.
//
// A table of more than 1 048 500 rows goes to several sheets part_1, part_2, ...; else one sheet
// Sheet1. Memory: one row at a time. Threads: one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "report/row_source.h"

namespace sonde::report {

inline constexpr size_t kMaxSheetRows = 1'048'500;

Status WriteXlsx(const RowSource& table, const std::string& path, size_t max_rows = kMaxSheetRows);

// A sheet of frames, the first row a coloured header. Its rows are all in memory.
struct XlsxFrame {
  std::vector<double> widths;  // of columns from the first on, in characters
  std::vector<size_t> merged;  // columns in which equal neighbours below each other are merged
  double header_height = 0;    // in points; 0: the usual one
};

struct XlsxSheet {
  std::string name;  // at most 31 characters
  std::vector<std::vector<std::string>> rows;
  std::optional<XlsxFrame> frame = std::nullopt;
};

// Sheets of texts; what is a number becomes one, except in the first row and, without a frame, the
// first column.
Status WriteXlsxSheets(const std::vector<XlsxSheet>& sheets, const std::string& path);

}  // namespace sonde::report
