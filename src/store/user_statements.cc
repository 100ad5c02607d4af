#include "store/user_statements.h"

#include <duckdb.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/files.h"
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

// Half of what this process may have: others work on the machine, and the page itself.
int64_t ShareOfMemory() {
  auto most = static_cast<int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
  const auto group = base::ReadFile("/sys/fs/cgroup/memory.max");  // "max" without a limit
  const auto limit = group.ok() ? base::ParseInt64(base::Trim(*group)) : std::nullopt;
  if (limit && *limit > 0) most = std::min(most, *limit);
  return most / 2;
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
      Concat("SET memory_limit = '", std::to_string(ShareOfMemory()), "B'"),
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

UserStatements::UserStatements(std::unique_ptr<internal::Database> database)
    : database_(std::move(database)) {}

UserStatements::~UserStatements() = default;

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
  // Statements are let into the folder of temporary files, closed or not: one of its own.
  SONDE_ASSIGN_OR_RETURN(database->spill, base::PrivateFolder::Make("statements"));
  for (const std::string& statement : Preparation(stores, threads, database->spill->path())) {
    SONDE_RETURN_IF_ERROR(connection->Execute(statement));
  }
  return std::unique_ptr<UserStatements>(new UserStatements(std::move(database)));
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
  std::string path =
      Concat(database_->spill->path(), "/export-", std::to_string(next++), ".parquet");
  const Status status = internal::WriteParquet(*database_, sql, path, cancellation);
  if (status.ok()) return path;
  base::RemoveTree(path).IgnoreError();  // the failure above matters
  return status;
}

}  // namespace sonde::store
