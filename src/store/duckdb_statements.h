// Owners of the objects that DuckDB's C API makes of a statement. Private to this folder.
#pragma once

#include <duckdb.h>

#include <string_view>

namespace sonde::store::internal {

// Mark before an error of ours that the database forwards inside a message of its own.
inline constexpr std::string_view kOwnWords = "\x1f";

struct Prepared {
  duckdb_prepared_statement handle = nullptr;
  Prepared() = default;
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;
  ~Prepared() { duckdb_destroy_prepare(&handle); }
};

struct QueryResult {
  duckdb_result handle = {};
  QueryResult() = default;
  QueryResult(const QueryResult&) = delete;
  QueryResult& operator=(const QueryResult&) = delete;
  ~QueryResult() { duckdb_destroy_result(&handle); }
};

struct DataChunk {
  duckdb_data_chunk handle = nullptr;
  explicit DataChunk(duckdb_data_chunk chunk) : handle(chunk) {}
  DataChunk(const DataChunk&) = delete;
  DataChunk& operator=(const DataChunk&) = delete;
  ~DataChunk() { duckdb_destroy_data_chunk(&handle); }
};

// The statements in a text; several of one where the database rewrites it.
struct Extracted {
  duckdb_extracted_statements handle = nullptr;
  idx_t count = 0;
  Extracted(duckdb_connection connection, const char* sql)
      : count(duckdb_extract_statements(connection, sql, &handle)) {}
  Extracted(const Extracted&) = delete;
  Extracted& operator=(const Extracted&) = delete;
  ~Extracted() { duckdb_destroy_extracted(&handle); }
};

}  // namespace sonde::store::internal
