#include "store/lake_catalog.h"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/files.h"
#include "base/host/folder_lock.h"
#include "base/strings.h"
#include "base/temporaries.h"
#include "store/open_database.h"
#include "store/schema.h"
#include "store/sql_text.h"
#include "store/user_statements.h"

namespace sonde::store::internal {
namespace {

using base::Concat;

constexpr std::string_view kLakeVersion = "1.0";

// As the extension makes them, in its order.
constexpr const char* kLakeDdl =
    R"(CREATE TABLE ducklake_metadata("key" VARCHAR NOT NULL, "value" VARCHAR NOT NULL, "scope" VARCHAR, scope_id BIGINT);
CREATE TABLE ducklake_snapshot(snapshot_id BIGINT PRIMARY KEY, snapshot_time TIMESTAMP WITH TIME ZONE, schema_version BIGINT, next_catalog_id BIGINT, next_file_id BIGINT);
CREATE TABLE ducklake_snapshot_changes(snapshot_id BIGINT PRIMARY KEY, changes_made VARCHAR, author VARCHAR, commit_message VARCHAR, commit_extra_info VARCHAR);
CREATE TABLE ducklake_schema(schema_id BIGINT PRIMARY KEY, schema_uuid UUID, begin_snapshot BIGINT, end_snapshot BIGINT, schema_name VARCHAR, path VARCHAR, path_is_relative BOOLEAN);
CREATE TABLE ducklake_table(table_id BIGINT, table_uuid UUID, begin_snapshot BIGINT, end_snapshot BIGINT, schema_id BIGINT, table_name VARCHAR, path VARCHAR, path_is_relative BOOLEAN);
CREATE TABLE ducklake_view(view_id BIGINT, view_uuid UUID, begin_snapshot BIGINT, end_snapshot BIGINT, schema_id BIGINT, view_name VARCHAR, dialect VARCHAR, "sql" VARCHAR, column_aliases VARCHAR);
CREATE TABLE ducklake_tag(object_id BIGINT, begin_snapshot BIGINT, end_snapshot BIGINT, "key" VARCHAR, "value" VARCHAR);
CREATE TABLE ducklake_column_tag(table_id BIGINT, column_id BIGINT, begin_snapshot BIGINT, end_snapshot BIGINT, "key" VARCHAR, "value" VARCHAR);
CREATE TABLE ducklake_data_file(data_file_id BIGINT PRIMARY KEY, table_id BIGINT, begin_snapshot BIGINT, end_snapshot BIGINT, file_order BIGINT, path VARCHAR, path_is_relative BOOLEAN, file_format VARCHAR, record_count BIGINT, file_size_bytes BIGINT, footer_size BIGINT, row_id_start BIGINT, partition_id BIGINT, encryption_key VARCHAR, mapping_id BIGINT, partial_max BIGINT);
CREATE TABLE ducklake_file_column_stats(data_file_id BIGINT, table_id BIGINT, column_id BIGINT, column_size_bytes BIGINT, value_count BIGINT, null_count BIGINT, min_value VARCHAR, max_value VARCHAR, contains_nan BOOLEAN, extra_stats VARCHAR);
CREATE TABLE ducklake_file_variant_stats(data_file_id BIGINT, table_id BIGINT, column_id BIGINT, variant_path VARCHAR, shredded_type VARCHAR, column_size_bytes BIGINT, value_count BIGINT, null_count BIGINT, min_value VARCHAR, max_value VARCHAR, contains_nan BOOLEAN, extra_stats VARCHAR);
CREATE TABLE ducklake_delete_file(delete_file_id BIGINT PRIMARY KEY, table_id BIGINT, begin_snapshot BIGINT, end_snapshot BIGINT, data_file_id BIGINT, path VARCHAR, path_is_relative BOOLEAN, format VARCHAR, delete_count BIGINT, file_size_bytes BIGINT, footer_size BIGINT, encryption_key VARCHAR, partial_max BIGINT);
CREATE TABLE ducklake_column(column_id BIGINT, begin_snapshot BIGINT, end_snapshot BIGINT, table_id BIGINT, column_order BIGINT, column_name VARCHAR, column_type VARCHAR, initial_default VARCHAR, default_value VARCHAR, nulls_allowed BOOLEAN, parent_column BIGINT, default_value_type VARCHAR, default_value_dialect VARCHAR);
CREATE TABLE ducklake_table_stats(table_id BIGINT, record_count BIGINT, next_row_id BIGINT, file_size_bytes BIGINT);
CREATE TABLE ducklake_table_column_stats(table_id BIGINT, column_id BIGINT, contains_null BOOLEAN, contains_nan BOOLEAN, min_value VARCHAR, max_value VARCHAR, extra_stats VARCHAR);
CREATE TABLE ducklake_partition_info(partition_id BIGINT, table_id BIGINT, begin_snapshot BIGINT, end_snapshot BIGINT);
CREATE TABLE ducklake_partition_column(partition_id BIGINT, table_id BIGINT, partition_key_index BIGINT, column_id BIGINT, "transform" VARCHAR);
CREATE TABLE ducklake_file_partition_value(data_file_id BIGINT, table_id BIGINT, partition_key_index BIGINT, partition_value VARCHAR);
CREATE TABLE ducklake_files_scheduled_for_deletion(data_file_id BIGINT, path VARCHAR, path_is_relative BOOLEAN, schedule_start TIMESTAMP WITH TIME ZONE);
CREATE TABLE ducklake_inlined_data_tables(table_id BIGINT, table_name VARCHAR, schema_version BIGINT);
CREATE TABLE ducklake_column_mapping(mapping_id BIGINT, table_id BIGINT, "type" VARCHAR);
CREATE TABLE ducklake_name_mapping(mapping_id BIGINT, column_id BIGINT, source_name VARCHAR, target_field_id BIGINT, parent_column BIGINT, is_partition BOOLEAN);
CREATE TABLE ducklake_schema_versions(begin_snapshot BIGINT, schema_version BIGINT, table_id BIGINT);
CREATE TABLE ducklake_macro(schema_id BIGINT, macro_id BIGINT, macro_name VARCHAR, begin_snapshot BIGINT, end_snapshot BIGINT);
CREATE TABLE ducklake_macro_impl(macro_id BIGINT, impl_id BIGINT, dialect VARCHAR, "sql" VARCHAR, "type" VARCHAR);
CREATE TABLE ducklake_macro_parameters(macro_id BIGINT, impl_id BIGINT, column_id BIGINT, parameter_name VARCHAR, parameter_type VARCHAR, default_value VARCHAR, default_value_type VARCHAR);
CREATE TABLE ducklake_sort_expression(sort_id BIGINT, table_id BIGINT, sort_key_index BIGINT, expression VARCHAR, dialect VARCHAR, sort_direction VARCHAR, null_order VARCHAR);
CREATE TABLE ducklake_sort_info(sort_id BIGINT, table_id BIGINT, begin_snapshot BIGINT, end_snapshot BIGINT);
CREATE TABLE sonde_lake(schema_version INTEGER);
CREATE TABLE sonde_run(run INTEGER PRIMARY KEY, "name" VARCHAR);
CREATE TABLE sonde_trace(trace INTEGER PRIMARY KEY, "key" VARCHAR UNIQUE, run INTEGER, rank INTEGER, path VARCHAR, is_whole BOOLEAN, "rows" BIGINT, bytes BIGINT, faults BIGINT);
)";

// What the tables above say of tables, columns and partitions. Ids count tables first, then their
// partitions. `shape`: name and columns of each, as the database describes them.
constexpr const char* kLakeContent =
    R"(INSERT INTO ducklake_schema VALUES (0, uuid(), 0, NULL, 'main', '', true);
INSERT INTO ducklake_table SELECT table_id, uuid(), 0, NULL, 0, table_name, table_name || '/', true FROM memory.main.shape WHERE place = 1;
INSERT INTO ducklake_column SELECT place, 0, NULL, table_id, place, column_name, CASE data_type WHEN 'SMALLINT' THEN 'int16' WHEN 'INTEGER' THEN 'int32' WHEN 'BIGINT' THEN 'int64' WHEN 'DOUBLE' THEN 'float64' ELSE lower(data_type) END, NULL, 'NULL', true, NULL, 'literal', 'duckdb' FROM memory.main.shape;
INSERT INTO ducklake_partition_info SELECT table_id + (SELECT max(table_id) FROM ducklake_table), table_id, 0, NULL FROM ducklake_table;
INSERT INTO ducklake_partition_column SELECT partition_id, table_id, CASE column_name WHEN 'run' THEN 0 ELSE 1 END, column_id, 'identity' FROM ducklake_partition_info JOIN ducklake_column USING (table_id) WHERE column_name IN ('run', 'rank');
INSERT INTO ducklake_table_stats SELECT table_id, 0, 0, 0 FROM ducklake_table;
INSERT INTO ducklake_schema_versions SELECT 0, 0, table_id FROM ducklake_table;
INSERT INTO ducklake_snapshot SELECT 0, now(), 0, max(partition_id) + 1, 0 FROM ducklake_partition_info;
INSERT INTO ducklake_snapshot_changes SELECT 0, 'created_schema:"main",' || string_agg('created_table:"main"."' || table_name || '"', ','), NULL, NULL, NULL FROM ducklake_table;
)";

// The table `shape`, from the tables of several traces themselves.
Status DescribeTables(Connection& connection, std::span<const ResultInfo> results) {
  SONDE_RETURN_IF_ERROR(connection.Execute("CREATE SCHEMA one; USE one"));
  for (const std::string& statement : CreateStatements()) {
    SONDE_RETURN_IF_ERROR(connection.Execute(statement));
  }
  std::string names = "('args'), ('trace')";
  for (const TableInfo& table : Tables()) {
    const bool is_of_others = table.name == "args_shared" || table.name == "name_";
    if (!is_of_others) names += Concat(", (", SqlText(table.name), ")");
  }
  for (const ResultInfo& result : results) {
    SONDE_RETURN_IF_ERROR(connection.Execute(CreateResultSql(result, result.name, {})));
    names += Concat(", (", SqlText(result.name), ")");
  }
  SONDE_RETURN_IF_ERROR(
      connection.Execute(Concat("CREATE TABLE trace (", TraceColumnsSql(), "); USE main")));
  return connection.Execute(Concat(
      "CREATE TABLE memory.main.shape AS WITH wanted AS (SELECT col0 AS table_name, row_number() "
      "OVER "
      "(ORDER BY col0) AS table_id FROM (VALUES ",
      names,
      ")), own AS (SELECT table_id, table_name, column_name, data_type, column_index FROM wanted "
      "JOIN duckdb_columns() USING (table_name) WHERE schema_name = 'one'), ahead AS (SELECT "
      "table_id, table_name, n AS column_name, 'INTEGER' AS data_type, i - 3 AS column_index FROM "
      "wanted, (VALUES ('trace', 0), ('run', 1), ('rank', 2)) AS l(n, i) WHERE NOT EXISTS (FROM "
      "own WHERE own.table_id = wanted.table_id AND own.column_name = n)) SELECT *, row_number() "
      "OVER (PARTITION BY table_id ORDER BY column_index) AS place FROM (FROM own UNION ALL FROM "
      "ahead); DROP SCHEMA one CASCADE"));
}

Status MakeLake(Connection& connection, const std::string& folder,
                std::span<const ResultInfo> results) {
  SONDE_RETURN_IF_ERROR(DescribeTables(connection, results));
  SONDE_RETURN_IF_ERROR(connection.Execute(Concat("USE ", kLakeAlias, "; ", kLakeDdl)));
  SONDE_RETURN_IF_ERROR(connection.Execute(kLakeContent));
  return connection.Execute(
      Concat("INSERT INTO ducklake_metadata VALUES ('version', ", SqlText(kLakeVersion),
             ", NULL, NULL), ('created_by', 'sonde', NULL, NULL), ('data_path', ",
             SqlText(folder + "/"), ", NULL, NULL), ('encrypted', 'false', NULL, NULL); ",
             "INSERT INTO sonde_lake VALUES (", std::to_string(kSchemaVersion), ")"));
}

Status CheckLake(Connection& connection, const std::string& folder) {
  const std::string alias = Concat(kLakeAlias, ".");
  const auto version =
      connection.Number(Concat("SELECT schema_version FROM ", alias, "sonde_lake"));
  if (!version.ok()) {
    return base::FailedPreconditionError(
        Concat("'", LakeCatalog(folder), "' is no catalogue that sonde lake made"));
  }
  if (*version != kSchemaVersion) {
    return base::FailedPreconditionError(
        Concat("the lake '", folder, "' has schema version ", std::to_string(*version),
               ", this program reads version ", std::to_string(kSchemaVersion),
               "; add the runs to a new lake"));
  }
  SONDE_ASSIGN_OR_RETURN(
      const int64_t ours,
      connection.Number(
          Concat("SELECT count(*) FROM ", alias,
                 "ducklake_metadata WHERE key = 'version' AND value = ", SqlText(kLakeVersion))));
  SONDE_ASSIGN_OR_RETURN(
      const int64_t deleted,
      connection.Number(Concat("SELECT count(*) FROM ", alias, "ducklake_delete_file")));
  if (ours == 1 && deleted == 0) return {};
  return base::FailedPreconditionError(
      Concat("another program changed the lake '", folder, "'",
             deleted > 0 ? " and deleted rows" : " to another version of DuckLake",
             "; read it with DuckLake"));
}

// A copy of the catalogue while it is changed.
class EditedCatalog {
 public:
  explicit EditedCatalog(const std::string& folder)
      : path_(LakeCatalog(folder)), copy_(base::TemporaryNextTo(path_)) {}
  EditedCatalog(const EditedCatalog&) = delete;
  EditedCatalog& operator=(const EditedCatalog&) = delete;
  ~EditedCatalog() {
    std::error_code ignored;
    std::filesystem::remove(copy_, ignored);
  }
  const std::string& path() const { return copy_; }
  // Returns whether there is one.
  Result<bool> Copy() const {
    if (!base::PathExists(path_)) return false;
    std::error_code error;
    std::filesystem::copy_file(path_, copy_, error);
    if (error) return base::ErrnoStatus(error.value(), "copy", path_);
    return true;
  }
  Status Publish() const {
    if (std::rename(copy_.c_str(), path_.c_str()) == 0) return {};
    return base::ErrnoStatus(errno, "write", path_);
  }

 private:
  const std::string path_;
  const std::string copy_;
};

}  // namespace

std::string LakeCatalog(const std::string& folder) {
  return base::JoinPath(folder, "catalog.ducklake");
}

Status CheckLakeFolder(const std::string& folder) {
  if (folder.find_first_of("*?[\n") == std::string::npos) return {};
  return base::InvalidArgumentError(
      Concat("the path of a lake must not contain *, ?, [ or a line break: '", folder, "'"));
}

Status AttachLake(Connection& connection, const std::string& folder) {
  SONDE_RETURN_IF_ERROR(CheckLakeFolder(folder));
  const std::string path = LakeCatalog(folder);
  if (!base::PathExists(path)) {
    return base::NotFoundError(Concat("'", folder, "' is no lake: it has no catalog.ducklake"));
  }
  const Status attached =
      connection.Execute(Concat("ATTACH ", SqlText(path), " AS ", kLakeAlias, " (READ_ONLY)"));
  if (!attached.ok()) {
    return base::CorruptDataError(
        Concat("cannot open the lake '", folder, "': ", attached.message()));
  }
  return CheckLake(connection, folder);
}

Result<std::vector<LakeTable>> ReadLakeTables(const Database& database) {
  const std::string alias = kLakeAlias;
  SONDE_ASSIGN_OR_RETURN(
      const ResultTable columns,
      Query(
          database,
          Concat("SELECT t.table_id, t.table_name, c.column_name, CASE c.column_type WHEN 'int16' "
                 "THEN 'SMALLINT' WHEN 'int32' THEN 'INTEGER' WHEN 'int64' THEN 'BIGINT' WHEN "
                 "'float64' THEN 'DOUBLE' ELSE c.column_type END, coalesce(s.record_count, 0) "
                 "FROM ",
                 alias, ".ducklake_table t JOIN ", alias,
                 ".ducklake_column c USING (table_id) LEFT JOIN ", alias,
                 ".ducklake_table_stats s USING (table_id) WHERE t.end_snapshot IS NULL AND "
                 "c.end_snapshot IS NULL ORDER BY t.table_id, c.column_order")));
  std::vector<LakeTable> tables;
  for (size_t row = 0; row < columns.rows(); ++row) {
    if (tables.empty() || tables.back().id != columns.Int(0, row)) {
      tables.push_back({.id = columns.Int(0, row),
                        .name = columns.Text(1, row),
                        .columns = {},
                        .types = {},
                        .has_rows = columns.Int(4, row) > 0});
    }
    tables.back().columns.push_back(SqlName(columns.Text(2, row)));
    tables.back().types.push_back(columns.Text(3, row));
  }
  return tables;
}

Status EditLake(const std::string& folder,
                const std::function<Result<bool>(Database&, Connection&)>& edit,
                std::span<const ResultInfo> results) {
  SONDE_RETURN_IF_ERROR(CheckLakeFolder(folder));
  SONDE_ASSIGN_OR_RETURN(const base::FolderLock lock, base::FolderLock::Take(folder));
  base::RemoveLeftovers(folder);
  const EditedCatalog copy(folder);
  SONDE_ASSIGN_OR_RETURN(const bool is_there, copy.Copy());
  bool is_changed = !is_there;
  {
    Database database;
    SONDE_RETURN_IF_ERROR(OpenInto(":memory:", Use::kUnlocked, {.threads = 1}, database));
    SONDE_ASSIGN_OR_RETURN(const auto connection, Connect(database));
    const Status attached =
        connection->Execute(Concat("ATTACH ", SqlText(copy.path()), " AS ", kLakeAlias,
                                   " (STORAGE_VERSION 'v1.2.0', ", "RECOVERY_MODE no_wal_writes)"));
    if (!attached.ok()) {
      return base::CorruptDataError(
          Concat("cannot open the lake '", folder, "': ", attached.message()));
    }
    SONDE_RETURN_IF_ERROR(
        is_there ? CheckLake(*connection, folder)
                 : MakeLake(*connection, folder, results).Annotate("while making a lake"));
    SONDE_RETURN_IF_ERROR(connection->Execute(Concat("USE ", kLakeAlias)));
    SONDE_ASSIGN_OR_RETURN(const bool changes, edit(database, *connection));
    is_changed |= changes;
    SONDE_RETURN_IF_ERROR(connection->Execute(
        Concat("CHECKPOINT ", kLakeAlias, "; USE memory; DETACH ", kLakeAlias)));
  }
  return is_changed ? copy.Publish() : Status();
}

}  // namespace sonde::store::internal
