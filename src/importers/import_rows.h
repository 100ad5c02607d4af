// The rows of a trace without a file of its own, for who puts many small ones together.
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

// Changes when the files of the trace do, or how this version of Sonde reads them.
Result<int64_t> StampOf(const TraceSource& source);

// In rows() of the store, or, where the importer needs a database, in a store that is not
// published, whose file lies beside `spare` until it is destroyed. `notify` is told in one line
// which of several forms it took.
Result<ImportedTrace> ImportRows(const TraceSource& source, const std::string& spare,
                                 const ImportOptions& options,
                                 const std::function<void(std::string_view)>& notify);

}  // namespace sonde::importers
