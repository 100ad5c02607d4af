// Databases of Ascend's profilers: ascend_pytorch_profiler_*.db, ascend_mindspore_profiler_*.db,
// msprof_*.db with the analysis.db in their folder, of schema 1.0.0 to 1.2.0, also when another
// viewer has added to them. They are never written to. See importers/importer.h.
#pragma once

#include <cstdint>
#include <string>

#include "importers/importer.h"
#include "importers/rows/trace_rows.h"

namespace sonde::importers {

bool IsAscendDb(const std::string& path);
Result<int32_t> AscendDbRank(const std::string& path);
Result<int64_t> AscendDbStamp(const std::string& path);
Result<ImportSummary> ImportAscendDb(const std::string& path, store::Store& store,
                                     const ImportOptions& options);

// Only the meaning of one database, without a store: for tests of damaged files.
Status ReadAscendDb(const std::string& path, TraceRows& rows);

}  // namespace sonde::importers
