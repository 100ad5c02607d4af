// All tables of a database into the store, cell by cell, for exact export (store/source_tables.h).
#pragma once

#include <string>

#include "base/host/sqlite_reader.h"
#include "base/status.h"
#include "store/import_issues.h"
#include "store/source_tables.h"
#include "store/store.h"

namespace sonde::importers {

// `file`: its name below the folder of the trace. Tables that cannot be read are counted.
Status CopyTables(const base::SqliteReader& reader, const std::string& file,
                  store::SourceNames& names, store::ImportIssues& issues,
                  store::Transaction& transaction);

}  // namespace sonde::importers
