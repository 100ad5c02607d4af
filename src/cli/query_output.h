// Results of SQL as people and programs read them: an aligned table, CSV or JSON.
//
// Streams: a result of any size passes through without being held (the table format looks at its
// first rows to choose the widths). One thread.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "base/status.h"
#include "store/joint.h"

namespace sonde::cli {

// kCsv: what a spreadsheet would run has "'" before it; kRawCsv: all texts as they are.
enum class QueryFormat { kTable, kCsv, kRawCsv, kJson };

// Runs one statement and writes its result to `out`. JSON: a list of objects, one on a line. NULL
// is empty in CSV, null in JSON, "NULL" in the table.
Status WriteQuery(const store::JointStore& store, const std::string& sql, QueryFormat format,
                  std::FILE* out);

// The same as a workbook of one sheet, which holds kMaxSheetRows rows: more are an error. Integers
// that Excel cannot hold are texts.
Status WriteWorkbook(const store::JointStore& store, const std::string& sql,
                     const std::string& path);

// A cell as text; exact for integers of every width.
std::string CellText(const store::Chunk& chunk, size_t column, size_t row);

}  // namespace sonde::cli
