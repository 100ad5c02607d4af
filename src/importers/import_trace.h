// From a trace that was found to a store that can be queried: where its file lies, whether one that
// is there is still right, and the import that makes it.
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

// Where the store file of a trace of ours lies: <path>/SONDE/trace.duckdb of a span folder.
std::string StorePath(const TraceSource& source);

// Calls `make` with the path for the store's file: StorePath() where the trace is ours; then, where
// that cannot be written or `make` ends for want of disk space (ResourceExhausted), a file of the
// user's cache folder ($XDG_CACHE_HOME/sonde/stores), named by the content of the trace; then one
// below the folder `spare`, unless that is empty. `notify` is told in one line of a full disk that
// was avoided. Returns what the last call did.
Status WithStorePath(const TraceSource& source, const std::string& spare,
                     const std::function<void(std::string_view)>& notify,
                     const std::function<Status(const std::string& path)>& make);

// Imports and publishes; an existing store file is replaced. What is a store already is opened.
struct ImportedTrace {
  std::unique_ptr<store::Store> store;
  ImportSummary summary;
  // A line for the user where the records hold less than a finished store of the same trace, which
  // then stays and is `store`; "" where the records were read.
  std::string kept_finished = {};
};
Result<ImportedTrace> ImportTrace(const TraceSource& source, const std::string& store_path,
                                  const ImportOptions& options);

// The same, but the caller publishes, and the rows are in memory where the importer can do that:
// for who writes deliverables while the store's file is made.
Result<ImportedTrace> ImportUnpublished(const TraceSource& source, const std::string& store_path,
                                        const ImportOptions& options);

// The store of a trace, opened for reading; made first where there is none, or where the files have
// changed since; it lies where WithStorePath finds a place. `notify` is told in one line each when
// an import begins and which of several forms it took; what was wrong is in the table import_issue.
Result<std::unique_ptr<store::Store>> OpenOrImport(
    const TraceSource& source, const ImportOptions& options,
    const std::function<void(std::string_view)>& notify);

// A file of the cache folder that is named as the store of a foreign trace as it is now. What is in
// it was not looked at: it is that store only where its stamp is this one.
struct NamedStore {
  std::string path;
  int64_t stamp = 0;
};
// Marked as used; null where there is none, and for traces of ours.
std::optional<NamedStore> FindCachedStore(const TraceSource& source);

}  // namespace sonde::importers
