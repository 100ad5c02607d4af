// Writes a comparison as an Excel workbook, rows coloured (row_colours.h).
//
// More than 1 048 500 rows go to several sheets part_1, part_2, ...; else one sheet Sheet1. Memory:
// one row at a time. Threads: one.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "precision/output/result_table.h"

namespace sonde::precision {

inline constexpr size_t kMaxSheetRows = 1'048'500;

Status WriteXlsx(const ResultTable& table, const std::string& path,
                 size_t max_rows = kMaxSheetRows);

struct XlsxSheet {
  std::string name;  // at most 31 characters
  std::vector<std::vector<std::string>> rows;
};

// Plain sheets of texts; what is a number becomes one, except in the first row and column.
Status WriteXlsxSheets(const std::vector<XlsxSheet>& sheets, const std::string& path);

}  // namespace sonde::precision
