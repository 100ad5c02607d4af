// A table of texts that has its own columns, written as csv or as a workbook of one sheet.
//
// Pure, any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace sonde::report {

struct TextTable {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};

// Writes `path_without_extension`.csv or .xlsx; returns the path.
Result<std::string> WriteTextTable(const TextTable& table,
                                   const std::string& path_without_extension, bool xlsx);

}  // namespace sonde::report
