// From a trace that was found to a store that can be queried: the place of its file, the check of
// an existing one, and the import.
//
// Threads: pure functions; distinct traces may be imported in parallel.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "importers/importer.h"
#include "importers/registry.h"
#include "store/store.h"

namespace sonde::importers {

// Path of the store file of a trace of ours: <path>/SONDE/trace.duckdb of a span folder.
std::string StorePath(const TraceSource& source);

// Calls `make` with the path for the store's file: StorePath() where the trace is ours. Where that
// cannot be written or `make` ends for want of disk space (ResourceExhausted), a file of the user's
// cache folder ($XDG_CACHE_HOME/sonde/stores), named by the content of the trace. After that one
// below the folder `spare`, unless that is empty. `notify` gets a line about a full disk that was
// avoided. Returns the result of the last call.
Status WithStorePath(const TraceSource& source, const std::string& spare,
                     const std::function<void(std::string_view)>& notify,
                     const std::function<Status(const std::string& path)>& make);

// Imports and publishes; an existing store file is replaced. A trace that is a store is opened.
struct ImportedTrace {
  std::unique_ptr<store::Store> store;
  ImportSummary summary;
  // A line for the user where the records hold less than a finished store of the same trace: that
  // store then stays and is `store`. "" where the records were read.
  std::string kept_finished = {};
};
Result<ImportedTrace> ImportTrace(const TraceSource& source, const std::string& store_path,
                                  const ImportOptions& options);

// The same, but the caller publishes, and the rows are in memory where the importer can do that:
// for callers that write deliverables while the store's file is made.
Result<ImportedTrace> ImportUnpublished(const TraceSource& source, const std::string& store_path,
                                        const ImportOptions& options);

// The store of a trace, opened for reading; made first where there is none, or where the files have
// changed since; it is where WithStorePath finds a place. `notify` gets a line when an import
// begins and one about the form that was chosen of several; problems are in the table import_issue.
Result<std::unique_ptr<store::Store>> OpenOrImport(
    const TraceSource& source, const ImportOptions& options,
    const std::function<void(std::string_view)>& notify);

// A file of the cache folder with the name of the store of a foreign trace in its present state.
// Its content was not checked: it is that store only where its stamp is this one.
struct NamedStore {
  std::string path;
  int64_t stamp = 0;
};
// Marked as used; null where there is none, and for traces of ours.
std::optional<NamedStore> FindCachedStore(const TraceSource& source);

}  // namespace sonde::importers
