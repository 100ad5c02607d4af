// Reading half of a lake: its tables for statements, and what is in it.
#include <algorithm>

#include "base/files.h"
#include "base/strings.h"
#include "store/lake.h"
#include "store/lake_catalog.h"
#include "store/open_database.h"
#include "store/sql_text.h"
#include "store/user_statements.h"

namespace sonde::store {
namespace {

using base::Concat;
using internal::Connection;
using internal::LakeTable;

std::string FilesVariable(const std::string& table) { return Concat("lake_files_", table); }

// The files of a table, as a value of SQL.
std::string FilesOf(const std::string& folder, const LakeTable& table, std::string_view limit) {
  return Concat("(SELECT list(", SqlText(Concat(folder, "/", table.name, "/")),
                " || path ORDER BY path) FROM (SELECT path FROM ", internal::kLakeAlias,
                ".ducklake_data_file WHERE table_id = ", std::to_string(table.id),
                " AND end_snapshot IS NULL ORDER BY path", limit, "))");
}

std::string LakeView(const LakeTable& table) {
  std::string sql = Concat("CREATE VIEW ", SqlName(table.name), " AS SELECT ");
  for (size_t i = 0; i < table.columns.size(); ++i) {
    if (i > 0) sql += ", ";
    sql += table.has_rows ? table.columns[i]
                          : Concat("NULL::", table.types[i], " AS ", table.columns[i]);
  }
  if (!table.has_rows) return sql + " WHERE false";
  return Concat(sql, " FROM read_parquet(getvariable(", SqlText(FilesVariable(table.name)),
                "), hive_partitioning = true, hive_types = {'run': INTEGER, 'rank': INTEGER})");
}

// Whether the word is in the text, in whatever case, and not as a part of another.
bool HasWord(std::string_view lower_text, std::string_view word) {
  const auto is_part = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  };
  for (size_t at = lower_text.find(word); at != std::string_view::npos;
       at = lower_text.find(word, at + 1)) {
    const size_t end = at + word.size();
    if (at > 0 && is_part(lower_text[at - 1])) continue;
    if (end < lower_text.size() && is_part(lower_text[end])) continue;
    return true;
  }
  return false;
}

}  // namespace

Status internal::JoinLake(Database& database, Connection& connection, const std::string& folder) {
  SONDE_RETURN_IF_ERROR(AttachLake(connection, folder));
  SONDE_ASSIGN_OR_RETURN(const auto tables, ReadLakeTables(database));
  for (const LakeTable& table : tables) {
    // One file shows the columns; the others are looked at when a statement needs them.
    if (table.has_rows) {
      SONDE_RETURN_IF_ERROR(connection.Execute(Concat("SET VARIABLE ", FilesVariable(table.name),
                                                      " = ", FilesOf(folder, table, " LIMIT 1"))));
    }
    SONDE_RETURN_IF_ERROR(connection.Execute(LakeView(table)));
    if (table.has_rows) {
      database.lake_tables.emplace_back(table.name, FilesOf(folder, table, ""));
    }
  }
  return connection.Execute(Concat("SET allowed_directories = [", SqlText(folder + "/"), "]"));
}

Status internal::NameLakeFiles(Connection& connection, const Database& database,
                               const std::string& sql) {
  if (database.lake_tables.empty()) return {};
  const std::string text = base::ToLower(sql);
  for (const auto& [name, files] : database.lake_tables) {
    if (!HasWord(text, name)) continue;
    SONDE_RETURN_IF_ERROR(
        connection.Execute(Concat("SET VARIABLE ", FilesVariable(name), " = ", files)));
  }
  return {};
}

bool IsLake(const std::string& path) { return base::IsRegularFile(internal::LakeCatalog(path)); }

Result<std::unique_ptr<JointStore>> OpenLake(const std::string& folder,
                                             const JointOptions& options) {
  return JointStore::Open({{.path = base::AbsolutePath(folder), .traces = {}}},
                          JointStore::Columns::kLeading, options);
}

Result<std::vector<LakeFile>> LakeFiles(const std::string& folder, const std::string& sql,
                                        const std::string& condition) {
  internal::Database database;
  SONDE_RETURN_IF_ERROR(
      internal::OpenInto(":memory:", internal::Use::kUnlocked, {.threads = 1}, database));
  SONDE_ASSIGN_OR_RETURN(const auto connection, internal::Connect(database));
  SONDE_RETURN_IF_ERROR(internal::AttachLake(*connection, base::AbsolutePath(folder)));
  // The condition is of a user's statement: it reaches no file.
  SONDE_RETURN_IF_ERROR(internal::LimitStatements(*connection, 0, /*reads_files=*/false));
  SONDE_ASSIGN_OR_RETURN(const auto tables, internal::ReadLakeTables(database));
  const std::string text = base::ToLower(sql);
  std::string names = "''";
  for (const LakeTable& table : tables) {
    if (sql.empty() || HasWord(text, table.name)) names += Concat(", ", SqlText(table.name));
  }
  const std::string only_first =
      sql.empty() ? " QUALIFY row_number() OVER (PARTITION BY table_id ORDER BY path) = 1" : "";
  SONDE_ASSIGN_OR_RETURN(
      const ResultTable found,
      internal::Query(
          database,
          Concat("SELECT path, bytes FROM (SELECT table_name || '/' || f.path AS path, "
                 "f.file_size_bytes AS bytes, f.data_file_id, f.table_id, (SELECT "
                 "partition_value::INTEGER FROM lake_.ducklake_file_partition_value p WHERE "
                 "p.data_file_id = f.data_file_id AND partition_key_index = 0) AS run, (SELECT "
                 "partition_value::INTEGER FROM lake_.ducklake_file_partition_value p WHERE "
                 "p.data_file_id = f.data_file_id AND partition_key_index = 1) AS rank FROM "
                 "lake_.ducklake_data_file f JOIN lake_.ducklake_table t USING (table_id) WHERE "
                 "f.end_snapshot IS NULL AND t.table_name IN (",
                 names, ")) WHERE ", condition.empty() ? "true" : condition, only_first)));
  std::vector<LakeFile> files;
  for (size_t row = 0; row < found.rows(); ++row) {
    files.push_back({found.Text(0, row), found.Int(1, row)});
  }
  return files;
}

Result<std::vector<LakeRun>> ListLake(const std::string& folder) {
  internal::Database database;
  SONDE_RETURN_IF_ERROR(
      internal::OpenInto(":memory:", internal::Use::kUnlocked, {.threads = 1}, database));
  SONDE_ASSIGN_OR_RETURN(const auto connection, internal::Connect(database));
  SONDE_RETURN_IF_ERROR(internal::AttachLake(*connection, base::AbsolutePath(folder)));
  SONDE_ASSIGN_OR_RETURN(
      const ResultTable found,
      internal::Query(
          database,
          "SELECT r.run::BIGINT, r.name, count(*), count(DISTINCT t.rank), sum(t.rows)::BIGINT, "
          "sum(t.bytes)::BIGINT, count(*) FILTER (t.faults > 0) FROM lake_.sonde_run r JOIN "
          "lake_.sonde_trace t USING (run) WHERE t.is_whole GROUP BY r.run, r.name ORDER BY "
          "r.run"));
  std::vector<LakeRun> runs;
  for (size_t row = 0; row < found.rows(); ++row) {
    runs.push_back({.number = static_cast<int32_t>(found.Int(0, row)),
                    .name = found.Text(1, row),
                    .traces = found.Int(2, row),
                    .ranks = found.Int(3, row),
                    .rows = found.Int(4, row),
                    .bytes = found.Int(5, row),
                    .faulty = found.Int(6, row)});
  }
  return runs;
}

}  // namespace sonde::store
