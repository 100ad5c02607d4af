// Makes the files of SchemaTemplate() and SchemaSignature() (schema_template.h); runs when Sonde is
// built.
//
//   sonde_schema_template FILE SIGNATURE_FILE
#include <duckdb.h>

#include <cstdio>
#include <string>

#include "store/schema.h"
#include "store/schema_check.h"

namespace {

bool Execute(duckdb_connection connection, const std::string& sql) {
  duckdb_result result = {};
  const bool done = duckdb_query(connection, sql.c_str(), &result) == DuckDBSuccess;
  if (!done) std::fprintf(stderr, "%s\n", duckdb_result_error(&result));
  duckdb_destroy_result(&result);
  return done;
}

// Blocks of 64 KB instead of 256. With few rows a block is nearly empty, and yet cleared, summed
// and written, which took 10 of the 85 ms of a small import. With many rows they are as fast. From
// version 1.2 on long texts, kept files above all, are packed to a tenth.
std::string AttachNew(const std::string& file) {
  std::string quoted;
  for (const char character : file) quoted.append(character == '\'' ? 2 : 1, character);
  return "ATTACH '" + quoted + "' AS store (BLOCK_SIZE 65536, STORAGE_VERSION 'v1.2.0'); USE store";
}

bool MakeTables(duckdb_connection connection) {
  std::string sql = "BEGIN;";
  for (const std::string& statement : sonde::store::CreateStatements()) sql += statement + ";";
  return Execute(connection, sql + "COMMIT") && Execute(connection, "CHECKPOINT");
}

bool WriteSignature(duckdb_connection connection, const char* path) {
  duckdb_result result = {};
  const std::string sql(sonde::store::kSignatureQuery);
  bool done = duckdb_query(connection, sql.c_str(), &result) == DuckDBSuccess;
  char* text = done ? duckdb_value_varchar(&result, 0, 0) : nullptr;
  std::FILE* file = text == nullptr ? nullptr : std::fopen(path, "we");
  done = file != nullptr && std::fputs(text, file) >= 0;
  if (file != nullptr) done = std::fclose(file) == 0 && done;
  duckdb_free(text);
  duckdb_destroy_result(&result);
  return done;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  std::remove(argv[1]);
  duckdb_database database = nullptr;
  duckdb_connection connection = nullptr;
  const bool made = duckdb_open(":memory:", &database) == DuckDBSuccess &&
                    duckdb_connect(database, &connection) == DuckDBSuccess &&
                    Execute(connection, AttachNew(argv[1])) && MakeTables(connection) &&
                    WriteSignature(connection, argv[2]) &&
                    Execute(connection, "USE memory; DETACH store");
  duckdb_disconnect(&connection);
  duckdb_close(&database);
  if (!made) std::fprintf(stderr, "cannot make '%s'\n", argv[1]);
  return made ? 0 : 1;
}
