// Checks a user's SQL: one statement that only reads.
//
// The check does not rely on its own splitting of the text: it decides by the database's view of
// the piece that is then run. Threads: any. Private to this folder.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"
#include "store/duckdb_handles.h"

namespace sonde::store::internal {

// The one statement in `sql`, without comments and `;` around it. A PRAGMA that has lists in its
// answer becomes the equivalent query, which can be part of another.
Result<std::string> OneStatement(std::string_view sql);

// Check of a statement from OneStatement. First by its words alone, then by the database's kind
// (duckdb_statement_type) or, where the database splits it, by the number of parts; CheckParts
// returns the part whose result is the statement's.
Status CheckWords(Connection& connection, const std::string& statement);
Status CheckKind(Connection& connection, const std::string& statement, int kind);
Result<size_t> CheckParts(Connection& connection, const std::string& statement, size_t parts);

}  // namespace sonde::store::internal
