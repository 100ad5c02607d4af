// Makes the file of SchemaTemplate() (schema_template.h); runs when Sonde is built.
//
//   sonde_schema_template FILE
#include <duckdb.h>

#include <cstdio>
#include <string>

#include "store/schema.h"

namespace {

bool Execute(duckdb_connection connection, const std::string& sql) {
  duckdb_result result = {};
  const bool done = duckdb_query(connection, sql.c_str(), &result) == DuckDBSuccess;
  if (!done) std::fprintf(stderr, "%s\n", duckdb_result_error(&result));
  duckdb_destroy_result(&result);
  return done;
}

bool MakeTables(duckdb_connection connection) {
  std::string sql = "BEGIN;";
  for (const std::string& statement : sonde::store::CreateStatements()) sql += statement + ";";
  return Execute(connection, sql + "COMMIT") && Execute(connection, "CHECKPOINT");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::remove(argv[1]);
  duckdb_database database = nullptr;
  duckdb_connection connection = nullptr;
  const bool made = duckdb_open(argv[1], &database) == DuckDBSuccess &&
                    duckdb_connect(database, &connection) == DuckDBSuccess &&
                    MakeTables(connection);
  duckdb_disconnect(&connection);
  duckdb_close(&database);
  if (!made) std::fprintf(stderr, "cannot make '%s'\n", argv[1]);
  return made ? 0 : 1;
}
