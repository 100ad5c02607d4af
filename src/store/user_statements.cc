#include "store/user_statements.h"

#include <duckdb.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/files.h"
#include "base/strings.h"
#include "store/duckdb_handles.h"
#include "store/duckdb_lazy.h"
#include "store/joint.h"
#include "store/made_tables.h"
#include "store/sql_text.h"
#include "store/statement_process.h"
#include "store/statement_watch.h"

namespace sonde::store {
namespace {

using base::Concat;

constexpr int64_t kLeastKept = int64_t{1} << 20;
constexpr int64_t kMostKept = int64_t{128} << 20;

// The stores are attached first; then access to files is disabled for good.
Status Prepare(internal::Database& database, internal::Connection& connection,
               const std::vector<StoreFile>& files, int threads, int64_t memory_bytes) {
  const std::string folder = database.spill == nullptr ? "" : database.spill->path();
  for (const std::string& setting : {std::string("autoinstall_known_extensions = false"),
                                     std::string("autoload_known_extensions = false"),
                                     std::string("custom_extension_repository = '/nonexistent'"),
                                     Concat("threads = ", std::to_string(std::max(1, threads))),
                                     Concat("temp_directory = ", SqlText(folder))}) {
    SONDE_RETURN_IF_ERROR(connection.Execute(Concat("SET ", setting)));
  }
  SONDE_RETURN_IF_ERROR(internal::JoinStores(
      database, connection, files, files.size() == 1 && files.front().traces.size() == 1));
  return internal::LimitStatements(connection, memory_bytes, /*reads_files=*/false);
}

}  // namespace

Status internal::LimitStatements(Connection& connection, int64_t memory_bytes, bool reads_files) {
  const int64_t bytes = MostMemory(memory_bytes);
  // What its allocator keeps of freed memory is not counted: 340 MB of a join at a limit of 500 MB,
  // where it may keep its usual 512 MB.
  const auto kept = std::to_string(std::clamp(bytes / 64, kLeastKept, kMostKept));
  for (const std::string& setting :
       {Concat("memory_limit = '", std::to_string(DatabaseShare(bytes)), "B'"),
        Concat("allocator_flush_threshold = '", kept, "B'"),
        Concat("allocator_bulk_deallocation_flush_threshold = '", kept, "B'")}) {
    SONDE_RETURN_IF_ERROR(connection.Execute(Concat("SET ", setting)));
  }
  if (!reads_files) {
    SONDE_RETURN_IF_ERROR(connection.Execute("SET enable_external_access = false"));
  }
  return connection.Execute("SET lock_configuration = true");
}

UserStatements::UserStatements(const StatementLimits& limits) : limits_(limits) {}

UserStatements::~UserStatements() = default;

Result<std::unique_ptr<UserStatements>> UserStatements::Open(const std::vector<StoreFile>& files,
                                                             int threads,
                                                             const StatementLimits& limits) {
  std::unique_ptr<UserStatements> statements(new UserStatements(limits));
  if (!limits.program.empty()) {
    SONDE_ASSIGN_OR_RETURN(
        statements->processes_,
        internal::StatementProcesses::Open({.files = files, .threads = threads, .limits = limits}));
    return statements;
  }
  SONDE_ASSIGN_OR_RETURN(auto spill, base::PrivateFolder::Make("statements"));
  SONDE_ASSIGN_OR_RETURN(
      statements->database_,
      internal::OpenForUser(files, threads, limits.memory_bytes, std::move(spill)));
  return statements;
}

Result<std::unique_ptr<internal::Database>> internal::OpenForUser(
    const std::vector<StoreFile>& files, int threads, int64_t memory_bytes,
    std::unique_ptr<base::PrivateFolder> spill) {
  SONDE_RETURN_IF_ERROR(LoadDuckDb());
  const bool is_lake = files.size() == 1 && files.front().traces.empty();  // as OpenLake names it
  if (is_lake) {
    return OpenJoint(files, JointStore::Columns::kLeading,
                     {.threads = threads, .limits = {.memory_bytes = memory_bytes}},
                     std::move(spill));
  }
  auto database = std::make_unique<Database>();
  database->spill = std::move(spill);
  if (duckdb_open(":memory:", &database->handle) == DuckDBError) {
    return base::InternalError("cannot open a database in memory");
  }
  SONDE_ASSIGN_OR_RETURN(const auto connection, Connect(*database));
  // Statements may always use the folder of temporary files: it is a private one.
  SONDE_RETURN_IF_ERROR(Prepare(*database, *connection, files, threads, memory_bytes));
  return database;
}

Status UserStatements::Offer(std::shared_ptr<const MadeTables> made) const {
  if (processes_ != nullptr) return processes_->Offer(std::move(made));
  return internal::OfferTables(*database_, std::move(made));
}

Status UserStatements::Scan(const std::string& sql,
                            const std::function<Status(const std::vector<QueryColumn>&)>& begin,
                            const std::function<Status(const Chunk&)>& consume,
                            Cancellation* cancellation) const {
  if (processes_ != nullptr) {
    return processes_->Run(sql, internal::Asker::kUser, begin, consume, cancellation);
  }
  return internal::Watched(limits_, cancellation, [&](Cancellation* watched) {
    return internal::RunStatement(*database_, sql, internal::Asker::kUser, begin, consume, watched);
  });
}

Result<std::string> UserStatements::WriteParquet(const std::string& sql,
                                                 Cancellation* cancellation) const {
  if (processes_ != nullptr) {
    SONDE_ASSIGN_OR_RETURN(std::string file, processes_->TemporaryFile(".parquet"));
    const Status written = processes_->WriteParquet(sql, file, cancellation);
    if (written.ok()) return file;
    base::RemoveTree(file).IgnoreError();  // the failure above matters
    return written;
  }
  static std::atomic<int> next = 0;
  std::string path =
      Concat(database_->spill->path(), "/export-", std::to_string(next++), ".parquet");
  const Status status = internal::Watched(limits_, cancellation, [&](Cancellation* watched) {
    return internal::WriteParquet(*database_, sql, path, watched);
  });
  if (status.ok()) return path;
  base::RemoveTree(path).IgnoreError();  // the failure above matters
  return status;
}

}  // namespace sonde::store
