// A trace of a lake as a store: the texts of its rows get numbers again, and NULL is -1.
#include <algorithm>
#include <map>

#include "base/files.h"
#include "base/strings.h"
#include "store/lake.h"
#include "store/lake_catalog.h"
#include "store/open_database.h"
#include "store/schema.h"
#include "store/sql_text.h"
#include "store/user_statements.h"

namespace sonde::store {
namespace {

using base::Concat;

// What stands behind the name of a table in the path of a file: "/run=0/rank=3/KEY.parquet".
constexpr std::string_view kLakePartition = "/run=";

struct OpenedCatalog {
  internal::Database database;
  std::unique_ptr<internal::Connection> connection;
};

Result<std::unique_ptr<OpenedCatalog>> OpenCatalog(const std::string& folder) {
  auto lake = std::make_unique<OpenedCatalog>();
  SONDE_RETURN_IF_ERROR(
      internal::OpenInto(":memory:", internal::Use::kUnlocked, {.threads = 1}, lake->database));
  SONDE_ASSIGN_OR_RETURN(lake->connection, internal::Connect(lake->database));
  SONDE_RETURN_IF_ERROR(internal::AttachLake(*lake->connection, folder));
  return lake;
}

// The files of a trace by table, each list as SQL names it; a trace may have rows of several ranks.
Result<std::map<std::string, std::string>> FilesOfKey(const std::string& folder,
                                                      std::string_view name) {
  SONDE_ASSIGN_OR_RETURN(const auto lake, OpenCatalog(folder));
  SONDE_ASSIGN_OR_RETURN(
      const ResultTable found,
      internal::Query(lake->database,
                      Concat("SELECT table_name, f.path FROM lake_.ducklake_data_file f JOIN "
                             "lake_.ducklake_table t USING (table_id) WHERE f.end_snapshot IS NULL "
                             "AND ends_with(f.path, ",
                             SqlText(Concat("/", name)), ") ORDER BY ALL")));
  std::map<std::string, std::string> files;
  for (size_t row = 0; row < found.rows(); ++row) {
    const std::string& table = found.Text(0, row);
    const std::string file = SqlText(Concat(folder, "/", table, "/", found.Text(1, row)));
    std::string& list = files[table];
    list += Concat(list.empty() ? "read_parquet([" : ", ", file);
  }
  for (auto& [table, list] : files) list += "], hive_partitioning = false)";
  return files;
}

// The rows of a table, from files that have the texts.
std::string FillLakeTable(const TableInfo& table, const std::string& files) {
  std::string values;
  std::string joins;
  const bool is_packed = table.stored != table.base_table;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    const ColumnInfo& column = table.columns[i];
    const std::string own = Concat("t.", SqlName(column.name));
    std::string value = own;
    if (column.type == ColumnType::kName) {
      const std::string alias = Concat("n", std::to_string(i));
      joins += Concat(" LEFT JOIN name_ ", alias, " ON ", alias, ".name = ", own);
      value = Concat("coalesce(", alias, ".name_id, -1)");
    } else if (column.type == ColumnType::kLookup || column.type == ColumnType::kRef ||
               column.type == ColumnType::kOpt) {
      value = Concat("coalesce(", own, ", -1)");
    }
    const std::string name = is_packed ? Concat(SqlName(column.name), " := ") : "";
    values += Concat(i > 0 ? ", " : "", name, value);
  }
  return Concat("INSERT INTO ", SqlName(table.stored), " SELECT ",
                is_packed ? Concat("struct_pack(", values, ")") : values, " FROM ", files, " t",
                joins, ";");
}

}  // namespace

Result<std::vector<LakeMember>> LakeMembers(const std::string& folder) {
  SONDE_ASSIGN_OR_RETURN(const auto lake, OpenCatalog(base::AbsolutePath(folder)));
  SONDE_ASSIGN_OR_RETURN(
      const ResultTable found,
      internal::Query(
          lake->database,
          "SELECT m.run::BIGINT, m.rank::BIGINT, f.path FROM lake_.sonde_trace m JOIN "
          "(SELECT split_part(f.path, '/', 3) AS name, min(table_name || '/' || f.path) "
          "AS path FROM lake_.ducklake_data_file f JOIN lake_.ducklake_table t USING "
          "(table_id) WHERE f.end_snapshot IS NULL GROUP BY ALL) f ON f.name = m.key "
          "|| '.parquet' WHERE m.is_whole AND m.rank >= 0 ORDER BY ALL"));
  std::vector<LakeMember> members;
  for (size_t row = 0; row < found.rows(); ++row) {
    members.push_back({static_cast<int32_t>(found.Int(0, row)),
                       static_cast<int32_t>(found.Int(1, row)),
                       Concat(base::AbsolutePath(folder), "/", found.Text(2, row))});
  }
  return members;
}

Status FillFromLake(const std::string& path, Store& store) {
  const std::string absolute = base::AbsolutePath(path);
  const size_t partition = absolute.rfind(kLakePartition);
  if (partition == std::string::npos) {
    return base::InvalidArgumentError(Concat("'", path, "' is no file of a lake"));
  }
  const std::string folder(base::DirName(absolute.substr(0, partition)));
  SONDE_ASSIGN_OR_RETURN(const auto files, FilesOfKey(folder, base::BaseName(absolute)));
  std::string texts;
  std::string rows;
  for (const TableInfo& table : Tables()) {
    const auto found = files.find(std::string(table.name));
    if (found == files.end()) continue;
    for (const ColumnInfo& column : table.columns) {
      if (column.type != ColumnType::kName) continue;
      texts += Concat(texts.empty() ? "" : " UNION ALL ", "SELECT ", SqlName(column.name),
                      " AS name FROM ", found->second);
    }
    rows += FillLakeTable(table, found->second);
  }
  SONDE_ASSIGN_OR_RETURN(Transaction transaction, store.Begin());
  if (!texts.empty()) {
    SONDE_RETURN_IF_ERROR(transaction.Execute(
        Concat("INSERT INTO name_ SELECT row_number() OVER () - 1, name FROM (SELECT DISTINCT name "
               "FROM (",
               texts, ") WHERE name IS NOT NULL)")));
  }
  if (!rows.empty()) SONDE_RETURN_IF_ERROR(transaction.Execute(rows));
  return transaction.Commit();
}

}  // namespace sonde::store
