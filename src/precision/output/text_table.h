// A table of texts that has its own columns, written as csv or as a workbook of one sheet.
//
// Pure, any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace sonde::precision {

struct TextTable {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};

// Writes `path_without_extension`.csv or .xlsx; returns the path.
Result<std::string> WriteTextTable(const TextTable& table,
                                   const std::string& path_without_extension, bool xlsx);

// A number as these tables show it: `Nan`, ` inf`, else as Python writes it.
std::string NumberText(double value);

}  // namespace sonde::precision
