// The trace database: one DuckDB file with the tables of tables.h.
//
// Writing: Create() makes the tables in a file under a temporary name; any number of threads each
// open a Transaction and TableWriters (table_writer.h); Publish() checkpoints and gives the file
// its name, and the zoom index its own, in the same folder (zoom_index.h). A Store that is
// destroyed unpublished leaves nothing behind. Reading: OpenReadOnly(), or the published Store
// itself. Threads: Begin, Query, Scan, Names may be called from any; each call uses a connection of
// its own. Errors: Status, with the database's own text. The network is never used (extensions are
// neither installed nor loaded by themselves).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "store/chunk.h"
#include "store/queryable.h"
#include "store/result_table.h"

namespace sonde::store {

struct StoreOptions {
  int threads = 1;  // of the database, for queries and checkpoints
  // Create: of the database until EndFilling(); 0: its default, as afterwards.
  int64_t filling_memory_bytes = 0;
  std::string temporary_directory = {};  // where queries spill; "": the system's
  int64_t source_stamp = 0;  // Create: identifies the sources of the store, for source_stamp()
  // Create: rows stay in memory, and the file is made by Publish() as a whole. Until then they are
  // read by rows(), and nothing can be queried. For callers that need the rows at once.
  bool rows_in_memory = false;
  // Create, with rows_in_memory: there never is a file. The store is nothing but its rows, written
  // by transactions and read by rows(), for callers that forward them or run a recipe on them.
  // Nothing is published, and statements of an importer fail with kFailedPrecondition. Importers
  // may put temporary files into the folder of the path.
  bool without_file = false;
};

class MadeTables;
class RowTables;
class ZoomWriter;

namespace internal {
struct Database;
struct Connection;
}  // namespace internal

// A connection with an open transaction. Rolled back when destroyed without Commit(). One thread.
class Transaction {
 public:
  Transaction(Transaction&&) noexcept;
  Transaction& operator=(Transaction&&) noexcept;
  ~Transaction();
  // Writers must be closed before. No further use.
  Status Commit();
  // Not with rows in memory.
  Status Execute(const std::string& sql);
  internal::Connection& connection() { return *connection_; }
  // Where rows go instead of to the file; null: to the file.
  RowTables* rows() { return rows_; }

 private:
  friend class Store;
  explicit Transaction(std::unique_ptr<internal::Connection> connection);
  explicit Transaction(RowTables& rows);
  std::unique_ptr<internal::Connection> connection_;
  RowTables* rows_ = nullptr;
};

struct QueryColumn {
  std::string name;
  ValueType type;
  bool is_decimal = false;  // text of a decimal number
  bool is_json = false;     // a list, struct or map as JSON text; may contain NaN and Infinity
};

class Store final : public Queryable {
 public:
  static Result<std::unique_ptr<Store>> Create(const std::string& path,
                                               const StoreOptions& options = {});
  // Refuses a file that is not a trace store, or one of another schema version.
  static Result<std::unique_ptr<Store>> OpenReadOnly(const std::string& path,
                                                     const StoreOptions& options = {});
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  ~Store() override;

  const std::string& path() const { return path_; }  // the final one

  // StoreOptions::source_stamp at the time of Create.
  int64_t source_stamp() const { return source_stamp_; }
  // Differs for each Create: data derived from a store refers to it.
  int64_t store_id() const { return store_id_; }
  const std::string& temporary_directory() const { return temporary_directory_; }

  Result<Transaction> Begin();
  // With StoreOptions::rows_in_memory: the rows that were written, also after Publish().
  std::shared_ptr<const RowTables> rows() const { return rows_; }
  // Whether there is nothing to publish (any more).
  bool is_complete() const { return temporary_path_.empty(); }
  // For callers that have all slices and add them: without it, Publish reads them back to make the
  // zoom index. May run in parallel with transactions.
  Status MakeZoomIndex(const std::function<void(ZoomWriter& writer)>& add_slices);
  // Raises the database's memory limit from the small one of filling: to be called after the last
  // row and before statements that need much memory. All transactions must have ended. Publish()
  // calls it where the caller did not.
  Status EndFilling();
  // All transactions must have ended. The Store stays open for reading.
  Status Publish();

  Result<ResultTable> Query(const std::string& sql) const override;
  Status Scan(const std::string& sql,
              const std::function<Status(const Chunk&)>& consume) const override;
  // Scan for statements of a user, with names and types of the columns: `begin` comes before the
  // first piece. Columns of type kOther are given as text. Statements that do more than read are
  // refused.
  Status ScanWithColumns(const std::string& sql,
                         const std::function<Status(const std::vector<QueryColumn>&)>& begin,
                         const std::function<Status(const Chunk&)>& consume) const;
  // All rows of a user's statement as a Parquet file.
  Status WriteParquet(const std::string& sql, const std::string& path) const;
  // A statement without a result to read.
  Status Execute(const std::string& sql) const;

  // Offers the tables of `made` to statements. Once, before the first of them.
  Status Offer(std::shared_ptr<const MadeTables> made) const;

  // Texts by name id.
  Result<std::vector<std::string>> Names() const;

 private:
  Store(std::string path, std::string temporary_path, std::unique_ptr<internal::Database> database);
  Status MakeFile();
  Status FinishZoomIndex();
  Result<Transaction> BeginInFile();
  std::string path_;
  std::string temporary_path_;                    // empty once published or when read-only
  std::unique_ptr<internal::Database> database_;  // not attached while rows are in memory only
  int64_t source_stamp_ = 0;
  int64_t store_id_ = 0;
  std::string temporary_directory_;
  std::unique_ptr<ZoomWriter> zoom_;  // not yet under its name
  StoreOptions options_;
  bool is_filling_ = false;
  std::shared_ptr<RowTables> rows_;
};

}  // namespace sonde::store
