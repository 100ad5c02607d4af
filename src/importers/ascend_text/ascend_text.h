// Text deliverables of Ascend's profilers: trace_view.json, the CSV and JSON files beside it, and
// what the device tool leaves in PROF_*/mindstudio_profiler_output, of every generation. See
// importers/importer.h. Where a database lies beside them, ascend_db takes the folder instead.
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
