// Statements of a user who may see the traces and nothing else: one or more stores, read-only, in a
// database of their own that reaches no other file. Statements can be cancelled; those that do more
// than read are refused (user_sql.h).
//
// The public tables are those of joint.h. Threads: any; each statement has a connection of its
// own, or a process (StatementLimits::program). Errors: Status, with the database's own text.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/host/private_folder.h"
#include "base/status.h"
#include "store/joint.h"
#include "store/store.h"

struct _duckdb_connection;  // NOLINT(bugprone-reserved-identifier,readability-identifier-naming)

namespace sonde::store {

// Cancels the statement that it was passed to, from any thread, also one that begins later.
class Cancellation {
 public:
  Cancellation() = default;
  Cancellation(const Cancellation&) = delete;
  Cancellation& operator=(const Cancellation&) = delete;
  // Waits until the statement has ended, which takes milliseconds, ten seconds at most.
  void Cancel();
  bool cancelled() const;

 private:
  friend class Cursor;
  mutable std::mutex mutex_;
  bool cancelled_ = false;
  _duckdb_connection* connection_ = nullptr;  // while a statement runs
};

class UserStatements {
 public:
  static Result<std::unique_ptr<UserStatements>> Open(const std::vector<StoreFile>& files,
                                                      int threads,
                                                      const StatementLimits& limits = {});
  UserStatements(const UserStatements&) = delete;
  UserStatements& operator=(const UserStatements&) = delete;
  ~UserStatements();

  // As Store::Offer.
  Status Offer(std::shared_ptr<const MadeTables> made) const;

  // As Store::ScanWithColumns. Cancelled: kCancelled.
  Status Scan(const std::string& sql,
              const std::function<Status(const std::vector<QueryColumn>&)>& begin,
              const std::function<Status(const Chunk&)>& consume,
              Cancellation* cancellation = nullptr) const;

  // All rows of one statement as a Parquet file in the folder of temporary files; its path. The
  // caller removes it.
  Result<std::string> WriteParquet(const std::string& sql,
                                   Cancellation* cancellation = nullptr) const;

 private:
  explicit UserStatements(const StatementLimits& limits);
  std::unique_ptr<internal::Database> database_;  // null: processes have it open
  std::unique_ptr<internal::StatementProcesses> processes_;
  const StatementLimits limits_;
};

namespace internal {

// From here on statements hold `memory_bytes` at most (0: half of the limit of this process), reach
// no other file unless `reads_files`, and change no setting.
Status LimitStatements(Connection& connection, int64_t memory_bytes, bool reads_files);

// A user's statements only read, and decimals stay exact.
enum class Asker : uint8_t { kSonde, kUser };

// Runs `sql`, with casts where it has columns without a plain layout (query.cc).
Status RunStatement(const Database& database, const std::string& sql, Asker asker,
                    const std::function<Status(const std::vector<QueryColumn>&)>& begin,
                    const std::function<Status(const Chunk&)>& consume, Cancellation* cancellation);

// What UserStatements and JointStore open; `spill`: folder for temporary files, or null.
Result<std::unique_ptr<Database>> OpenForUser(const std::vector<StoreFile>& files, int threads,
                                              int64_t memory_bytes,
                                              std::unique_ptr<base::PrivateFolder> spill);
Result<std::unique_ptr<Database>> OpenJoint(const std::vector<StoreFile>& files,
                                            JointStore::Columns columns,
                                            const JointOptions& options,
                                            std::unique_ptr<base::PrivateFolder> spill);

// The rows that `run` passes on, as a table.
using RunRows = std::function<Status(const std::function<Status(const std::vector<QueryColumn>&)>&,
                                     const std::function<Status(const Chunk&)>&)>;
Result<ResultTable> Collect(const RunRows& run);

// See Queryable.
Status Scan(const Database& database, const std::string& sql,
            const std::function<Status(const Chunk&)>& consume);
Result<ResultTable> Query(const Database& database, const std::string& sql);

// All rows of a user's statement as a Parquet file.
Status WriteParquet(const Database& database, const std::string& sql, const std::string& path,
                    Cancellation* cancellation);
// The same to any path, where the database may only write its own folder.
Status WriteParquetTo(const Database& database, const std::string& sql, const std::string& path,
                      Cancellation* cancellation);

}  // namespace internal

}  // namespace sonde::store
