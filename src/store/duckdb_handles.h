// Owners of DuckDB's C handles. Private to this folder: duckdb.h is included here only.
#pragma once

#include <duckdb.h>

#include <memory>
#include <string>

#include "base/status.h"
#include "store/chunk.h"

namespace sonde::store::internal {

struct Database {
  duckdb_database handle = nullptr;
  Database() = default;
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database() { duckdb_close(&handle); }
};

struct Connection {
  duckdb_connection handle = nullptr;
  bool in_transaction = false;
  Connection() = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() { duckdb_disconnect(&handle); }
  // A statement whose result is of no interest.
  Status Execute(const std::string& sql);
};

struct QueryResult {
  duckdb_result handle = {};
  QueryResult() = default;
  QueryResult(const QueryResult&) = delete;
  QueryResult& operator=(const QueryResult&) = delete;
  ~QueryResult() { duckdb_destroy_result(&handle); }
};

Result<std::unique_ptr<Connection>> Connect(const Database& database);

ValueType ToValueType(duckdb_type type);

}  // namespace sonde::store::internal
