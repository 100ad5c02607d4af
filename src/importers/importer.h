// The interface of importers: a name, a check of a path, and the work of filling a store from it.
//
// A new format is one folder below this one and one line in registry.cc
// (docs/how-to/add-an-importer.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "store/import_issues.h"
#include "store/store.h"
#include "store/table_set.h"

namespace sonde::importers {

class ImportWatch;

struct ImportOptions {
  int threads = 1;               // that the import of one trace may use
  ImportWatch* watch = nullptr;  // import_watch.h; may be null
  // The tables that are needed. An importer that reads by table may leave out the others.
  uint64_t tables = store::kAllTables;
};

struct ImportSummary {
  int32_t rank = -1;
  int64_t slices = 0;
  int64_t device_tasks = 0;
  int64_t communication_ops = 0;
  int64_t memory_events = 0;
  int64_t begin_ns = 0;  // of the first record
  int64_t end_ns = 0;    // of the last
  std::vector<store::ImportIssue> issues;
};

// Functions may be null where "may be null" is stated. Callers use these members and never compare
// importers: a new one needs no change elsewhere.
struct Importer {
  const char* name;  // lower case, as in messages
  const char* one;   // "capture of Sonde"
  const char* what;  // several: "captures of Sonde"
  // To be raised where the importer makes other rows of the same files: its older stores are
  // recreated, those of other importers stay. A change of shared code counts for each importer.
  uint32_t version = 1;
  // Whether `path`, a file or folder, is something this importer reads. Cheap: looks at names
  // first, opens little.
  bool (*recognises)(const std::string& path);
  // Global rank of the trace, -1 unknown.
  Result<int32_t> (*rank)(const std::string& path);
  // A number that changes when the files change: a store made before is then made again.
  Result<int64_t> (*stamp)(const std::string& path);
  // Fills an empty store; the caller publishes it. Null: the trace is a store already.
  Result<ImportSummary> (*import)(const std::string& path, store::Store& store,
                                  const ImportOptions& options);
  // The store may be in the folder of the trace: it is our own. Folders of users stay as they are.
  bool is_ours = false;
  // Its traces fit into memory, and it only appends rows: it can fill a store whose rows are in
  // memory (StoreOptions::rows_in_memory).
  bool fills_memory = false;
  // False: a store of other tables (store/own_tables.h), which is shown and queried. Analyses leave
  // it out, and so do packs.
  bool holds_trace = true;
  // It reads only ImportOptions::tables. The rows of these tables are those of a whole import.
  // Exceptions are columns that refer to other tables (with other numbers, or "none") and columns
  // that come from them (step and device of an operation between ranks: device_task). Problems of
  // the rest of the files are not reported.
  bool reads_by_table = false;
  // Its traces are sessions of a server: several processes, and requests.
  bool is_of_server = false;
  // For a file that the user named and no name rule knows: a look inside is enough. May be null.
  bool (*holds)(const std::string& path) = nullptr;
  // Absolute paths of other traces whose rows this one holds, too. May be null: there are none.
  Result<std::vector<std::string>> (*parts)(const std::string& path) = nullptr;
  // A sentence for the user: records of the trace that are not read, since the tool that wrote them
  // has to process them first; "" where there are none. May be null: never.
  std::string (*left_out)(const std::string& path) = nullptr;
  // Whether nothing finished was made of its records yet; what a failed analysis left does not
  // count. Results may then be put where its own profiler puts them. May be null: never.
  bool (*lacks_results)(const std::string& path) = nullptr;
  // Writes a sample of a large trace into `folder`, to be shown while the whole is imported, and
  // returns its path; kNotFound where a sample saves nothing. May be null: never.
  Result<std::string> (*preview)(const std::string& path, const std::string& folder) = nullptr;
  // Removes the records that the published store replaces. May be null: they stay.
  Status (*remove_records)(const std::string& path) = nullptr;
  // Whether the trace is of a process that helps another one, as workers of a data loader do: it is
  // no rank, and no program of its own. Null: never.
  bool (*is_helper)(const std::string& path) = nullptr;
  // Number of ranks of the job, from the trace's files; 0 unknown. Cheap. Null: never known.
  int32_t (*world)(const std::string& path) = nullptr;
};

}  // namespace sonde::importers
