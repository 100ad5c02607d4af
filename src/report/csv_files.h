// Writes a long table as csv files, formatted in parallel, streamed in order, rows ended by LF.
//
// Files of more than 1 000 000 rows are split into ..._part_1.csv, ..._part_2.csv. Memory: a few
// megabytes whatever the size. Threads: works in parallel inside.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "report/row_source.h"

namespace sonde::report {

inline constexpr size_t kMaxCsvRows = 1'000'000;

// Writes `path_without_extension`.csv; returns the paths written.
Result<std::vector<std::string>> WriteCsv(const RowSource& table,
                                          const std::string& path_without_extension,
                                          size_t max_rows = kMaxCsvRows);

// As CsvCell (csv_writer.h), in place.
void AppendCsvCell(std::string_view cell, std::string* out);

}  // namespace sonde::report
