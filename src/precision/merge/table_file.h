// Result tables that were written earlier, by us or by the reference: csv, or the first sheet of an
// Excel workbook, as texts.
//
// Of the workbook format only what tables need is read: shared and inline texts, numbers, formula
// results. Limits: 1 GiB a csv file; of a workbook 64 MiB of shared texts and 192 MiB of
// cells, whatever it unpacks to. Errors: Status that names the file.
// Threads: pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace sonde::precision {

// The first row is the header. Rows may be shorter than it.
using TableRows = std::vector<std::vector<std::string>>;

Result<TableRows> ReadTableFile(const std::string& path);

TableRows ParseCsvTable(std::string_view text);
Result<TableRows> ParseXlsx(std::string_view bytes);

}  // namespace sonde::precision
