// The tables of modes as tables that a statement names, next to those of traces
// (store/made_tables.h), by the names of their declarations (frame/table.h).
// docs/reference/cluster-tables.md lists them.
//
// A mode runs, with its own defaults, when a statement first asks for one of its tables; what comes
// of it is kept as long as the tables are. Threads: any; modes run one after the other. Errors:
// those of the mode, as where no rank holds what it needs, become the statement's.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "cluster/frame/mode.h"
#include "cluster/frame/run.h"
#include "store/joint.h"
#include "store/made_tables.h"

namespace sonde::cluster {

// A table, and the modes that may make it, those with few tables first: the next ones count where
// the first finds nothing to put into it.
struct ModeTable {
  const TableInfo* info = nullptr;
  std::vector<const Mode*> modes;
};
// Of all modes but those that write files; in the order of the list.
const std::vector<ModeTable>& ModeTables();

// Runs a mode over the ranks that statements are about.
using RunMode = std::function<Result<RunResult>(const Mode& mode)>;

// `complain`: gets a line for each rank that a table is without.
std::shared_ptr<const store::MadeTables> MakeModeTables(RunMode run, job::NoticeSink complain);

// Of the traces below `path`, for MakeModeTables. `base_path`: for modes that compare with another
// run; "" is none.
struct FolderRequest {
  std::string path;
  std::string base_path;
  int threads = 1;
  job::NoticeSink notify;  // what the user should know about the ranks, once for each mode
};
RunMode RunOverFolder(FolderRequest request);
// Of a store with one trace.
RunMode RunOverStore(store::StoreFile file, int threads);

// docs/reference/cluster-tables.md, and lines of `sonde query --schema`.
std::string ModeTablesMarkdown();
std::string ModeTablesText();

}  // namespace sonde::cluster
