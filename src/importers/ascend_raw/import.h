// Raw records of Ascend's profilers, read without the vendor's software: FRAMEWORK/torch.* of a
// span folder with its PROF_*, or a PROF_* alone. See importers/importer.h. Finished results in the
// same folder are taken instead, unless SONDE_ASCEND_RAW=1.
#pragma once

#include <cstdint>
#include <string>

#include "importers/importer.h"
#include "importers/rows/trace_rows.h"

namespace sonde::importers {

bool IsAscendRaw(const std::string& path);
Result<int32_t> AscendRawRank(const std::string& path);
Result<int64_t> AscendRawStamp(const std::string& path);
Result<ImportSummary> ImportAscendRaw(const std::string& path, store::Store& store,
                                      const ImportOptions& options);
// Whether no analysis of them has finished.
bool AscendRawLacksResults(const std::string& path);
// The first half of an import: the records as rows in memory; `rows` is empty.
void ReadAscendRaw(const std::string& path, TraceRows& rows);

}  // namespace sonde::importers
