// Writes the sheets of a comparison: a workbook as the reference lays it out, csv files, a
// database, a page that needs nothing else.
//
// Every file appears complete or not at all. One thread. Errors: Status.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "compare/output/report.h"

namespace sonde::compare {

enum class Form : uint8_t { kExcel, kCsv, kDb, kHtml };

// The files, below `folder`, which is made where it is not there.
Result<std::vector<std::string>> Write(const Report& report, Form form, const std::string& folder);

// Parts of Write: the file `path`, or the files in the folder `path`.
Status WriteWorkbook(const Report& report, const std::string& path);
std::string HtmlOf(const Report& report);
Status WriteDatabase(const Report& report, const std::string& path);
Status WriteCsvFiles(const Report& report, const std::string& path,
                     std::vector<std::string>& files);

}  // namespace sonde::compare
