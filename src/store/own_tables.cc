#include "store/own_tables.h"

#include <set>

#include "base/strings.h"
#include "store/schema.h"
#include "store/sql_text.h"
#include "store/table_set.h"

namespace sonde::store {
namespace {

using base::Concat;

// Rows that describe others, or the data: a trace of these alone shows nothing.
constexpr uint64_t kDescriptions =
    TablesOf<NameRow, ProcessRow, ThreadRow, TrackRow, ArgsIntRow, ArgsDoubleRow, ArgsTextRow,
             ArgsSharedRow, OpSignatureRow, CallstackRow, TaskKindRow, CommunicationGroupRow,
             ImportIssueRow, MetadataRow, SourceTextRow>();

// As a list of literals.
std::string DeclaredNames() {
  std::set<std::string_view> names = {"args"};
  for (const TableInfo& table : Tables()) {
    names.insert({table.name, table.base_table, table.stored});
  }
  std::string list;
  for (const std::string_view name : names) {
    list += Concat(list.empty() ? "" : ", ", SqlText(name));
  }
  return list;
}

// Which rows of duckdb_views() and duckdb_columns() are of such tables.
std::string IsOwn(std::string_view database, std::string_view name) {
  return Concat("database_name = ", database, " AND schema_name = 'main' AND NOT internal AND ",
                "NOT ends_with(", name, ", '_') AND ", name, " NOT IN (", DeclaredNames(), ")");
}

constexpr std::string_view kThisDatabase = "current_database()";

}  // namespace

std::string internal::OwnTablesSql(std::string_view database) {
  return Concat(
      "SELECT view_name, (SELECT count(*) FROM duckdb_columns() c WHERE c.database_name = "
      "v.database_name AND c.schema_name = 'main' AND c.table_name = v.view_name AND "
      "c.column_name = 'rank') FROM duckdb_views() v WHERE ",
      IsOwn(database, "view_name"), " ORDER BY view_name");
}

Result<std::vector<std::string>> OwnTables(const Queryable& store) {
  SONDE_ASSIGN_OR_RETURN(const ResultTable rows,
                         store.Query(internal::OwnTablesSql(kThisDatabase)));
  std::vector<std::string> names;
  for (size_t row = 0; row < rows.rows(); ++row) names.push_back(rows.Text(0, row));
  return names;
}

Result<std::vector<OwnColumn>> OwnColumns(const Queryable& store) {
  SONDE_ASSIGN_OR_RETURN(
      const ResultTable rows,
      store.Query(Concat("SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE ",
                         IsOwn(kThisDatabase, "table_name"),
                         " AND table_name IN (SELECT view_name FROM duckdb_views() WHERE ",
                         IsOwn(kThisDatabase, "view_name"),
                         ") ORDER BY table_name, column_index")));
  std::vector<OwnColumn> columns;
  for (size_t row = 0; row < rows.rows(); ++row) {
    columns.push_back({rows.Text(0, row), rows.Text(1, row), rows.Text(2, row)});
  }
  return columns;
}

Result<bool> HasRecords(const Queryable& store) {
  std::string any;
#define SONDE_STORE_ANY(Row, table, columns, meaning)                 \
  if ((kDescriptions & kTableBit<Row>) == 0) {                        \
    any += Concat(any.empty() ? "SELECT (" : " OR ", "EXISTS (FROM ", \
                  SqlName(RowTraits<Row>::kTable), ")");              \
  }
  SONDE_TABLES(SONDE_STORE_ANY)
#undef SONDE_STORE_ANY
  SONDE_ASSIGN_OR_RETURN(const ResultTable found, store.Query(Concat(any, ")::INTEGER")));
  return found.Int(0, 0) > 0;
}

}  // namespace sonde::store
