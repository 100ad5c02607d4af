// Text deliverables of Ascend's profilers: trace_view.json, the CSV and JSON files in its folder,
// and the device tool's files in PROF_*/mindstudio_profiler_output, of every generation. See
// importers/importer.h. Where the folder has a database, ascend_db reads it instead.
#pragma once

#include <cstdint>
#include <string>

#include "importers/importer.h"

namespace sonde::importers {

bool IsAscendText(const std::string& path);
Result<int32_t> AscendTextRank(const std::string& path);
Result<int64_t> AscendTextStamp(const std::string& path);
Result<ImportSummary> ImportAscendText(const std::string& path, store::Store& store,
                                       const ImportOptions& options);

}  // namespace sonde::importers
