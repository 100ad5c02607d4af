// What an importer is: a name, a look at a path, and the work of filling a store from it.
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
  // The tables that somebody will read. An importer that reads by table may leave out the others.
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

// Functions may be null where "may be null" is said. Callers ask these members, never which
// importer it is: one more needs no change elsewhere.
struct Importer {
  const char* name;  // lower case, as in messages
  const char* what;  // "captures of Sonde"
  // To be raised where the importer makes other rows of the same files: its stores of before are
  // made anew, those of others stay. What several importers share counts for each of them.
  uint32_t version = 1;
  // Whether `path`, a file or folder, is something this importer reads. Cheap: looks at names
  // first, opens little.
  bool (*recognises)(const std::string& path);
  // Global rank of the trace, -1 unknown.
  Result<int32_t> (*rank)(const std::string& path);
  // A number that changes when the files change: a store made before is then made again.
  Result<int64_t> (*stamp)(const std::string& path);
  // Fills an empty store; the caller publishes it. Null: what was found is a store already.
  Result<ImportSummary> (*import)(const std::string& path, store::Store& store,
                                  const ImportOptions& options);
  // The store may lie in the folder of the trace: it is our own. Folders of users stay as they are.
  bool is_ours = false;
  // Its traces fit into memory, and it only appends rows: it can fill a store whose rows are in
  // memory (StoreOptions::rows_in_memory).
  bool fills_memory = false;
  // It reads of the files what ImportOptions::tables says. The rows of these tables are those of a
  // whole import, but for columns that refer to others (numbered otherwise, or "none") and those
  // that others tell (step and device of an operation between ranks: device_task); what is wrong
  // with the rest of the files is not said.
  bool reads_by_table = false;
  // Its traces are sessions of a server: several processes, and requests.
  bool is_of_server = false;
  // For a file that the user named and no name rule knows: a look inside is enough. May be null.
  bool (*holds)(const std::string& path) = nullptr;
  // Absolute paths of other traces whose rows this one holds, too. May be null: there are none.
  Result<std::vector<std::string>> (*parts)(const std::string& path) = nullptr;
  // A sentence for the user: records that belong to the trace and are not read, since the tool that
  // wrote them has to work on them first; "" where there are none. May be null: never.
  std::string (*left_out)(const std::string& path) = nullptr;
  // Writes a sample of a large trace into `folder`, to be shown while the whole is imported, and
  // returns where it is; kNotFound where nothing is gained by one. May be null: never.
  Result<std::string> (*preview)(const std::string& path, const std::string& folder) = nullptr;
  // Removes the records that the store, made and published, has taken the place of. May be null:
  // they stay.
  Status (*remove_records)(const std::string& path) = nullptr;
  // Whether the trace is of a process that helps another one, as workers of a data loader do: it is
  // no rank, and no program of its own. Null: never.
  bool (*is_helper)(const std::string& path) = nullptr;
  // How many ranks the job had, as the trace's files say; 0 unknown. Cheap. Null: never known.
  int32_t (*world)(const std::string& path) = nullptr;
};

}  // namespace sonde::importers
