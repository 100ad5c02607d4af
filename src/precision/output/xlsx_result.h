// Writes a comparison as an Excel workbook, rows coloured (row_colours.h).
//
// More than 1 048 500 rows go to several sheets part_1, part_2, ...; else one sheet Sheet1. Memory:
// one row at a time. Threads: one.
#pragma once

#include <string>

#include "base/status.h"
#include "precision/output/result_table.h"

namespace sonde::precision {

inline constexpr size_t kMaxSheetRows = 1'048'500;

Status WriteXlsx(const ResultTable& table, const std::string& path,
                 size_t max_rows = kMaxSheetRows);

}  // namespace sonde::precision
