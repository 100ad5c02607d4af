// Opens DuckDB's library at the first use instead of at the start of the program: its 75 000
// relocations cost every command 17 ms, also those that need no database.
//
// Sources include duckdb.h and call its functions as ever. On x86-64 each function is a jump
// through a table (duckdb_lazy.S) whose entries are filled at the first call; elsewhere, and in the
// sanitizer presets, the library is linked and LoadDuckDb() is always ok. Threads: any.
#pragma once

#include "base/status.h"

namespace sonde::store {

// Call this before anything of duckdb.h: a library that is missing or too old becomes a Status
// here, and an abort with a message there.
Status LoadDuckDb();

}  // namespace sonde::store
