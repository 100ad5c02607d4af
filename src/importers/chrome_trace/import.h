// Traces in the Chrome trace event format of an unknown producer: slices, counters, flows and
// instants without interpretation.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "importers/importer.h"
#include "store/store.h"

namespace sonde::importers {

bool IsChromeTrace(const std::string& path);
// The same for a file of any name.
bool HoldsChromeTrace(const std::string& path);
Result<int32_t> ChromeTraceRank(const std::string& path);
Result<int64_t> ChromeTraceStamp(const std::string& path);
Result<ImportSummary> ImportChromeTrace(const std::string& path, store::Store& store,
                                        const ImportOptions& options);

}  // namespace sonde::importers
