// What a user's SQL may be: one statement that reads.
//
// Nothing here trusts the way it cuts text: what may run is decided by what the database makes of
// the piece that is then run. Threads: any. Private to this folder.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"
#include "store/duckdb_handles.h"

namespace sonde::store::internal {

// The one statement in `sql`, without comments and `;` around it. A PRAGMA that has lists in its
// answer becomes the query it stands for, which can be part of another.
Result<std::string> OneStatement(std::string_view sql);

// For one that OneStatement gave. First by its words alone, then by the kind that the database
// gives it (duckdb_statement_type) or, where it makes several of one, by their number; of these
// CheckParts gives the one whose result is the statement's.
Status CheckWords(Connection& connection, const std::string& statement);
Status CheckKind(Connection& connection, const std::string& statement, int kind);
Result<size_t> CheckParts(Connection& connection, const std::string& statement, size_t parts);

}  // namespace sonde::store::internal
