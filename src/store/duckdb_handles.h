// Owners of DuckDB's C handles. Private to this folder, whose .cc files include duckdb.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/host/parallel.h"
#include "base/host/private_folder.h"
#include "base/status.h"
#include "store/database_path.h"

// DuckDB's own names: duckdb_database and duckdb_connection point to them.
struct _duckdb_database;    // NOLINT(bugprone-reserved-identifier,readability-identifier-naming)
struct _duckdb_connection;  // NOLINT(bugprone-reserved-identifier,readability-identifier-naming)

namespace sonde::store::internal {

// One that is being opened by a thread of its own (`opening`) is used only after Opened().
struct Database {
  _duckdb_database* handle = nullptr;
  bool is_attached = false;  // the store is a database called "store", attached to an empty one
  std::string search_path;   // of its connections; "": the database's own
  DatabasePath written;      // the file that it writes, where it is attached
  std::unique_ptr<base::PrivateFolder> spill;  // null: queries that do not fit into memory fail
  std::unique_ptr<base::TaskGroup> opening;
  Status opened;
  std::vector<std::string> made;  // names of further tables for statements (made_tables.h)
  // Of a lake that is opened: its tables with rows, and their files as a value of SQL.
  std::vector<std::pair<std::string, std::string>> lake_tables;
  Database() = default;
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database();
  // Waits until the database is open; returns whether that succeeded.
  Status Opened();
};

struct Connection {
  _duckdb_connection* handle = nullptr;
  bool in_transaction = false;
  Connection() = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();
  // A statement whose result is of no interest.
  Status Execute(const std::string& sql);
  // The one cell of its result.
  Result<int64_t> Number(const std::string& sql);
};

// FailedPrecondition for a store that another version of Sonde made.
Status CheckSchemaVersion(const std::string& path, int64_t version);

// From the database's message: ResourceExhausted where a disk or quota is full, else Internal.
Status DatabaseError(std::string message);

Result<std::unique_ptr<Connection>> Connect(const Database& database);

}  // namespace sonde::store::internal
