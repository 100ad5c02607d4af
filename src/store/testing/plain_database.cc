#include "store/testing/plain_database.h"

#include <duckdb.h>

namespace sonde::store {

struct PlainDatabase::Handles {
  duckdb_database database = nullptr;
  duckdb_connection connection = nullptr;
};

PlainDatabase::PlainDatabase(const std::string& path) : handles_(std::make_unique<Handles>()) {
  if (duckdb_open(path.c_str(), &handles_->database) != DuckDBSuccess) return;
  if (duckdb_connect(handles_->database, &handles_->connection) != DuckDBSuccess) {
    handles_->connection = nullptr;
  }
}

PlainDatabase::~PlainDatabase() {
  if (handles_->connection != nullptr) duckdb_disconnect(&handles_->connection);
  if (handles_->database != nullptr) duckdb_close(&handles_->database);
}

std::vector<std::vector<std::string>> PlainDatabase::Run(const std::string& sql) {
  std::vector<std::vector<std::string>> rows;
  if (handles_->connection == nullptr) return rows;
  duckdb_result result = {};
  if (duckdb_query(handles_->connection, sql.c_str(), &result) == DuckDBSuccess) {
    rows.resize(duckdb_row_count(&result));
    for (idx_t row = 0; row < rows.size(); ++row) {
      for (idx_t column = 0; column < duckdb_column_count(&result); ++column) {
        char* text = duckdb_value_varchar(&result, column, row);
        rows[row].emplace_back(text != nullptr ? text : "");
        duckdb_free(text);
      }
    }
  }
  duckdb_destroy_result(&result);
  return rows;
}

}  // namespace sonde::store
