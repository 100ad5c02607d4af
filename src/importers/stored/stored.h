// A span folder whose raw records were removed (data_simplification): its store,
// SONDE/trace.duckdb, is all that is left, and holds everything that analyses need. Nothing is
// imported: the store is opened directly. See importers/importer.h.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace sonde::importers {

// True where there is a store and no capture, for a span folder or the SONDE folder in it.
bool IsStored(const std::string& path);
Result<int32_t> StoredRank(const std::string& path);
Result<int64_t> StoredStamp(const std::string& path);
bool IsHelperStored(const std::string& path);

// The store that `sonde probe compare --store` writes: a file without a trace, with the rows of a
// comparison of values. It is known by its name; of one that was renamed, and of graphs, by its
// tables.
bool IsComparison(const std::string& path);
bool HoldsComparison(const std::string& path);
Result<int32_t> ComparisonRank(const std::string& path);
Result<int64_t> ComparisonStamp(const std::string& path);

}  // namespace sonde::importers
