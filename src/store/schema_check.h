// Checks that a store's tables are those that this version makes: foreign or damaged files are
// recognized before anything is read by place and type.
//
// Errors: kCorruptData. Threads: any. Private to this folder.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace sonde::store {

class Store;

// A number, as text, of all tables with their columns and types, except those of one store only. In
// any order: sorting took more than half of the time, and every opening runs the query.
inline constexpr std::string_view kSignatureQuery =
    "SELECT bit_xor(hash(sql))::VARCHAR FROM duckdb_tables() WHERE NOT internal AND "
    "database_name = current_database() AND schema_name = 'main' AND table_name <> 'store_info_'";

Status CheckTables(const Store& store);
// The failure.
Status NotOurTables(const std::string& path);

}  // namespace sonde::store
