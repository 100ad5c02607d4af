// The rows of a trace without a file of its own, for callers that join many small traces.
//
// Threads: distinct traces may be read in parallel. Memory: the rows.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "importers/import_trace.h"

namespace sonde::importers {

// Changes with the files of the trace, and with the version of its importer.
Result<int64_t> StampOf(const TraceSource& source);

// In rows() of the store, or, where the importer needs a database, in a store that is not
// published, whose file is next to `spare` until it is destroyed. `notify` gets a line about the
// form that was chosen of several.
Result<ImportedTrace> ImportRows(const TraceSource& source, const std::string& spare,
                                 const ImportOptions& options,
                                 const std::function<void(std::string_view)>& notify);

}  // namespace sonde::importers
