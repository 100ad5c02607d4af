#include "store/user_statements.h"

#include <duckdb.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <utility>

#include "base/files.h"
#include "base/host/temporary.h"
#include "base/strings.h"
#include "store/duckdb_handles.h"
#include "store/duckdb_lazy.h"
#include "store/schema.h"

namespace sonde::store {
namespace {

using base::Concat;

std::string Quoted(std::string_view text) {
  return Concat("'", base::ReplaceAll(text, "'", "''"), "'");
}

// The rows of one table of all stores.
std::string ViewOf(std::string_view name, std::span<const ColumnInfo> columns,
                   const std::vector<RankStore>& stores) {
  const bool has_rank =
      stores.size() == 1 || std::any_of(columns.begin(), columns.end(),
                                        [](const auto& column) { return column.name == "rank"; });
  std::string sql = Concat("CREATE VIEW \"", name, "\" AS ");
  for (size_t i = 0; i < stores.size(); ++i) {
    const std::string rank = stores[i].rank < 0 ? "NULL" : std::to_string(stores[i].rank);
    sql += Concat(i > 0 ? " UNION ALL " : "", "SELECT ",
                  has_rank ? std::string() : Concat(rank, "::INTEGER AS rank, "), "* FROM r",
                  std::to_string(i), ".\"", name, "\"");
  }
  return sql;
}

// Statements are let into the folder of temporary files, closed or not: one of its own, whose name
// nobody can have taken before.
std::string NewFolder() {
  std::random_device random;
  const uint64_t number = (uint64_t{random()} << 32U) | random();
  return Concat(base::TemporaryRoot(), "/sonde-statements-", std::to_string(::getpid()), "-",
                std::to_string(number));
}

// The stores are attached while that is allowed; then the door is closed for good.
std::vector<std::string> Preparation(const std::vector<RankStore>& stores, int threads,
                                     const std::string& folder) {
  std::vector<std::string> statements = {
      "SET autoinstall_known_extensions = false",
      "SET autoload_known_extensions = false",
      "SET custom_extension_repository = '/nonexistent'",
      Concat("SET threads = ", std::to_string(std::max(1, threads))),
      Concat("SET temp_directory = ", Quoted(folder)),
  };
  for (size_t i = 0; i < stores.size(); ++i) {
    statements.push_back(
        Concat("ATTACH ", Quoted(stores[i].path), " AS r", std::to_string(i), " (READ_ONLY)"));
  }
  for (const TableInfo& table : Tables()) {
    statements.push_back(ViewOf(table.name, table.columns, stores));
  }
  statements.push_back(ViewOf("args", {}, stores));
  statements.emplace_back("SET enable_external_access = false");
  statements.emplace_back("SET lock_configuration = true");
  return statements;
}

}  // namespace

UserStatements::UserStatements(std::unique_ptr<internal::Database> database, std::string folder)
    : database_(std::move(database)), folder_(std::move(folder)) {}

UserStatements::~UserStatements() {
  database_.reset();
  if (base::PathExists(folder_)) base::RemoveTree(folder_).IgnoreError();  // temporary files
}

Result<std::unique_ptr<UserStatements>> UserStatements::Open(const std::vector<RankStore>& stores,
                                                             int threads) {
  SONDE_RETURN_IF_ERROR(LoadDuckDb());
  // Each is checked by itself first: a clear message for one that is no store.
  for (const RankStore& store : stores) {
    SONDE_RETURN_IF_ERROR(Store::OpenReadOnly(store.path).status());
  }
  auto database = std::make_unique<internal::Database>();
  if (duckdb_open(":memory:", &database->handle) == DuckDBError) {
    return base::InternalError("cannot open a database in memory");
  }
  SONDE_ASSIGN_OR_RETURN(const auto connection, internal::Connect(*database));
  std::string folder = NewFolder();
  for (const std::string& statement : Preparation(stores, threads, folder)) {
    SONDE_RETURN_IF_ERROR(connection->Execute(statement));
  }
  return std::unique_ptr<UserStatements>(
      new UserStatements(std::move(database), std::move(folder)));
}

Status UserStatements::Scan(const std::string& sql,
                            const std::function<Status(const std::vector<QueryColumn>&)>& begin,
                            const std::function<Status(const Chunk&)>& consume,
                            Cancellation* cancellation) const {
  return internal::RunStatement(*database_, sql, internal::Asker::kUser, begin, consume,
                                cancellation);
}

Result<std::string> UserStatements::WriteParquet(const std::string& sql,
                                                 Cancellation* cancellation) const {
  static std::atomic<int> next = 0;
  constexpr mode_t kOnlyForTheUser = 0700;
  SONDE_RETURN_IF_ERROR(base::MakeDirectories(folder_, kOnlyForTheUser));
  std::string path = Concat(folder_, "/export-", std::to_string(next++), ".parquet");
  const Status status = internal::WriteParquet(*database_, sql, path, cancellation);
  if (status.ok()) return path;
  base::RemoveTree(path).IgnoreError();  // the failure above matters
  return status;
}

}  // namespace sonde::store
