#include "store/store.h"

#include <duckdb.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/files.h"
#include "base/hash.h"
#include "base/host/temporary.h"
#include "base/strings.h"
#include "base/temporaries.h"
#include "store/duckdb_handles.h"
#include "store/made_tables.h"
#include "store/open_database.h"
#include "store/row_tables.h"
#include "store/schema.h"
#include "store/schema_check.h"
#include "store/schema_template.h"
#include "store/zoom_build.h"
#include "store/zoom_index.h"
#include "store/zoom_writer.h"

namespace sonde::store {
namespace internal {

Database::~Database() {
  opening.reset();
  if (handle != nullptr) duckdb_close(&handle);
}

Status Database::Opened() {
  opening.reset();
  return opened;
}

Connection::~Connection() { duckdb_disconnect(&handle); }

Status Connection::Execute(const std::string& sql) {
  duckdb_result result = {};
  Status status;
  if (duckdb_query(handle, sql.c_str(), &result) == DuckDBError) {
    const char* text = duckdb_result_error(&result);
    status = DatabaseError(text != nullptr ? text : "the database failed without a reason");
  }
  duckdb_destroy_result(&result);
  return status;
}

Result<int64_t> Connection::Number(const std::string& sql) {
  duckdb_result result = {};
  if (duckdb_query(handle, sql.c_str(), &result) == DuckDBError) {
    const char* text = duckdb_result_error(&result);
    Status status = DatabaseError(text != nullptr ? text : "the database failed without a reason");
    duckdb_destroy_result(&result);
    return status;
  }
  const bool has_number = duckdb_row_count(&result) == 1;
  const int64_t number = has_number ? duckdb_value_int64(&result, 0, 0) : 0;
  duckdb_destroy_result(&result);
  if (!has_number) return base::CorruptDataError("there is not one row");
  return number;
}

Status CheckSchemaVersion(const std::string& path, int64_t version) {
  if (version == kSchemaVersion) return {};
  return base::FailedPreconditionError(
      base::Concat("the trace store '", path, "' has schema version ", std::to_string(version),
                   ", this program reads version ", std::to_string(kSchemaVersion),
                   "; run sonde analyse again"));
}

// The database gives no error number, but its text contains the system's message and the file.
Status DatabaseError(std::string message) {
  for (const int error : {ENOSPC, EDQUOT, EFBIG}) {
    if (message.find(std::generic_category().message(error)) == std::string::npos) continue;
    constexpr std::string_view kBeforePath = "file \"";
    const size_t path = message.find(kBeforePath);
    if (path == std::string::npos) return base::ResourceExhaustedError(std::move(message));
    const size_t begin = path + kBeforePath.size();
    return base::ErrnoStatus(error, "write",
                             message.substr(begin, message.find('"', begin) - begin));
  }
  return base::InternalError(std::move(message));
}

Result<std::unique_ptr<Connection>> Connect(const Database& database) {
  auto connection = std::make_unique<Connection>();
  if (duckdb_connect(database.handle, &connection->handle) == DuckDBError) {
    return base::InternalError("cannot open a connection to the trace store");
  }
  if (database.is_attached) SONDE_RETURN_IF_ERROR(connection->Execute("USE store"));
  if (!database.search_path.empty()) {
    SONDE_RETURN_IF_ERROR(
        connection->Execute(base::Concat("SET search_path = '", database.search_path, "'")));
  }
  return connection;
}

}  // namespace internal

namespace {

using base::Concat;
using internal::Connection;
using internal::Database;
using internal::OpenDatabase;
using internal::QueryThreads;
using internal::Use;

// Loading the library and its functions takes longest: opened while rows are gathered.
std::unique_ptr<Database> OpenForFillingInBackground(const StoreOptions& options) {
  auto database = std::make_unique<Database>();
  database->opening = std::make_unique<base::TaskGroup>(options.threads);
  database->opening->Run([options, opened = database.get()] {
    opened->opened = internal::OpenInto(":memory:", Use::kFilling, options, *opened);
  });
  return database;
}

void RemoveDatabaseFiles(const std::string& file) {
  ::unlink(file.c_str());
  ::unlink((file + ".wal").c_str());
}

// Not the same twice, also on another machine.
int64_t NewStoreId(int64_t source_stamp) {
  static std::atomic<uint64_t> count = 0;
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  uint64_t id = base::HashCombine(
      static_cast<uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<uint64_t>(now.tv_nsec),
      static_cast<uint64_t>(::getpid()));
  id = base::HashCombine(id, count.fetch_add(1));
  return static_cast<int64_t>(base::HashCombine(id, static_cast<uint64_t>(source_stamp)));
}

// Attaches a new store without rows. Rows go to the file with the checkpoint, without a log before:
// until then the file has a temporary name.
Status AttachNewFile(const std::string& file, Database& database) {
  SONDE_ASSIGN_OR_RETURN(database.written, internal::DatabasePath::For(file));
  SONDE_RETURN_IF_ERROR(base::WriteFileAtomically(database.written.name(), SchemaTemplate()));
  SONDE_ASSIGN_OR_RETURN(auto connection, internal::Connect(database));
  SONDE_RETURN_IF_ERROR(
      connection->Execute(Concat("ATTACH '", base::ReplaceAll(database.written.name(), "'", "''"),
                                 "' AS store (RECOVERY_MODE no_wal_writes)")));
  database.is_attached = true;
  return {};
}

// No other process can open a file that a database may write to, also not to read it.
Status DetachFile(Database& database) {
  database.is_attached = false;
  SONDE_ASSIGN_OR_RETURN(auto connection, internal::Connect(database));
  SONDE_RETURN_IF_ERROR(connection->Execute("DETACH store"));
  return database.written.BringToPlace();
}

Status AttachFinishedFile(const std::string& file, Database& database) {
  SONDE_ASSIGN_OR_RETURN(auto connection, internal::Connect(database));
  SONDE_RETURN_IF_ERROR(connection->Execute(
      Concat("ATTACH '", base::ReplaceAll(file, "'", "''"), "' AS store (READ_ONLY)")));
  database.is_attached = true;
  return {};
}

Status WriteStoreInfo(const Database& database, int64_t source_stamp, int64_t store_id) {
  SONDE_ASSIGN_OR_RETURN(auto connection, internal::Connect(database));
  return connection->Execute(Concat("CREATE TABLE store_info_ AS SELECT ",
                                    std::to_string(kSchemaVersion), " AS schema_version, ",
                                    std::to_string(source_stamp), "::BIGINT AS source_stamp, ",
                                    std::to_string(store_id), "::BIGINT AS store_id"));
}

// The zoom index of rows in memory, which needs no table; Publish finishes it.
Status IndexRows(const RowTables& rows, Store& store) {
  if (rows.Rows<SliceRow>().empty()) return {};
  return store.MakeZoomIndex([&](ZoomWriter& writer) {
    for (const SliceRow& row : rows.Rows<SliceRow>()) writer.Add(row);
    AddTaskLanes(rows, writer);
  });
}

}  // namespace

Transaction::Transaction(std::unique_ptr<Connection> connection)
    : connection_(std::move(connection)) {}
Transaction::Transaction(RowTables& rows) : rows_(&rows) {}
Transaction::Transaction(Transaction&&) noexcept = default;
Transaction& Transaction::operator=(Transaction&&) noexcept = default;
Transaction::~Transaction() {
  if (connection_ != nullptr && connection_->in_transaction) {
    connection_->Execute("ROLLBACK").IgnoreError();  // nothing can be done, and nothing is kept
  }
}

Status Transaction::Commit() {
  if (rows_ != nullptr) return {};
  CHECK(connection_ != nullptr && connection_->in_transaction, "Commit ends a transaction once");
  connection_->in_transaction = false;
  return connection_->Execute("COMMIT").Annotate("while writing the trace store");
}

Status Transaction::Execute(const std::string& sql) {
  if (connection_ == nullptr) {
    return base::FailedPreconditionError("no statements while rows are in memory");
  }
  return connection_->Execute(sql);
}

Store::Store(std::string path, std::string temporary_path, std::unique_ptr<Database> database)
    : path_(std::move(path)),
      temporary_path_(std::move(temporary_path)),
      database_(std::move(database)) {}

Store::~Store() {
  database_.reset();
  if (!temporary_path_.empty() && !options_.without_file) RemoveDatabaseFiles(temporary_path_);
}

Result<std::unique_ptr<Store>> Store::Create(const std::string& path, const StoreOptions& options) {
  const bool has_file = !options.without_file;
  CHECK(has_file || options.rows_in_memory, "a store without a file has its rows in memory");
  if (has_file) {
    SONDE_RETURN_IF_ERROR(base::CheckWritableDirectory(std::string(base::DirName(path))));
    base::RemoveLeftovers(std::string(base::DirName(path)));
  }
  std::unique_ptr<Store> store(new Store(path, base::TemporaryNextTo(path), nullptr));
  store->source_stamp_ = options.source_stamp;
  store->store_id_ = NewStoreId(options.source_stamp);
  store->options_ = options;
  if (options.rows_in_memory) {
    store->rows_ = std::make_shared<RowTables>();
    if (has_file) store->database_ = OpenForFillingInBackground(options);
  } else {
    SONDE_RETURN_IF_ERROR(store->MakeFile());
  }
  return store;
}

Status Store::MakeFile() {
  RemoveDatabaseFiles(temporary_path_);
  if (rows_ == nullptr) {
    SONDE_ASSIGN_OR_RETURN(database_, OpenDatabase(":memory:", Use::kFilling, options_));
  }
  is_filling_ = true;
  SONDE_RETURN_IF_ERROR(database_->Opened());
  SONDE_RETURN_IF_ERROR(AttachNewFile(temporary_path_, *database_));
  return WriteStoreInfo(*database_, source_stamp_, store_id_)
      .Annotate("while making the tables of the trace store");
}

Result<std::unique_ptr<Store>> Store::OpenReadOnly(const std::string& path,
                                                   const StoreOptions& options) {
  if (!base::PathExists(path)) {
    return base::NotFoundError(Concat("there is no trace store '", path, "'"));
  }
  // With so few rows a statement has nothing to divide, and waiting threads poll for work.
  constexpr uint64_t kSmallBytes = uint64_t{16} << 20U;
  StoreOptions thrifty = options;
  if (base::FileSize(path).value_or(0) <= kSmallBytes) thrifty.threads = 1;
  SONDE_ASSIGN_OR_RETURN(auto database, OpenDatabase(path, Use::kReading, thrifty));
  std::unique_ptr<Store> store(new Store(path, "", std::move(database)));
  const auto version = store->Query("SELECT schema_version FROM store_info_");
  if (!version.ok() || version->rows() != 1) {
    return base::CorruptDataError(Concat("'", path, "' is a database, but not a trace store"));
  }
  SONDE_RETURN_IF_ERROR(internal::CheckSchemaVersion(path, version->Int(0, 0)));
  SONDE_RETURN_IF_ERROR(CheckTables(*store));
  SONDE_ASSIGN_OR_RETURN(const auto info,
                         store->Query("SELECT source_stamp, store_id FROM store_info_"));
  store->source_stamp_ = info.Int(0, 0);
  store->store_id_ = info.Int(1, 0);
  store->temporary_directory_ =
      store->database_->spill == nullptr ? base::TemporaryRoot() : store->database_->spill->path();
  return store;
}

Result<Transaction> Store::Begin() {
  if (temporary_path_.empty()) return base::FailedPreconditionError("the trace store is complete");
  if (rows_ != nullptr) return Transaction(*rows_);
  return BeginInFile();
}

Result<Transaction> Store::BeginInFile() {
  SONDE_ASSIGN_OR_RETURN(auto connection, internal::Connect(*database_));
  SONDE_RETURN_IF_ERROR(connection->Execute("BEGIN"));
  connection->in_transaction = true;
  return Transaction(std::move(connection));
}

// From here on as a database that was opened for any use.
Status Store::EndFilling() {
  if (!is_filling_) return {};  // also with rows in memory: Publish() is yet to fill it
  is_filling_ = false;
  // RESET alone changes the value of the setting, not the behaviour of the database.
  SONDE_RETURN_IF_ERROR(Execute("RESET GLOBAL memory_limit"));
  SONDE_ASSIGN_OR_RETURN(const auto usual, Query("SELECT current_setting('memory_limit')"));
  SONDE_RETURN_IF_ERROR(Execute(Concat("SET GLOBAL memory_limit = '", usual.Text(0, 0), "'")));
  SONDE_RETURN_IF_ERROR(
      Execute(Concat("SET GLOBAL threads = ", std::to_string(QueryThreads(options_)))));
  return Execute("SET GLOBAL lock_configuration = true");
}

Status Store::Publish() {
  CHECK(!temporary_path_.empty(), "Publish is for a store that was created, once");
  CHECK(!options_.without_file, "rows without a file are not published");
  if (rows_ != nullptr) {
    SONDE_RETURN_IF_ERROR(MakeFile());
    Status indexed;
    base::TaskGroup background(options_.threads);
    background.Run([&] { indexed = IndexRows(*rows_, *this); });
    const Status written = rows_->Write(options_.threads, [this] { return BeginInFile(); });
    background.Wait();
    SONDE_RETURN_IF_ERROR(written);
    SONDE_RETURN_IF_ERROR(indexed);
  }
  SONDE_RETURN_IF_ERROR(FinishZoomIndex());
  SONDE_RETURN_IF_ERROR(Execute("CHECKPOINT store").Annotate("while writing the trace store"));
  SONDE_RETURN_IF_ERROR(DetachFile(*database_));
  // Other processes may be about to open a store of this name: both files are replaced, never
  // absent. An index of another store is recognized by its number.
  if (zoom_ != nullptr) {
    SONDE_RETURN_IF_ERROR(std::exchange(zoom_, nullptr)->Commit());
  } else {
    ::unlink(ZoomIndex::PathFor(path_).c_str());
  }
  ::unlink((path_ + ".wal").c_str());  // of a store that was here: not to be replayed on this one
  if (std::rename(temporary_path_.c_str(), path_.c_str()) != 0) {
    return base::ErrnoStatus(errno, "make the trace store", path_);
  }
  temporary_path_.clear();
  SONDE_RETURN_IF_ERROR(AttachFinishedFile(path_, *database_));
  return EndFilling();
}

Status Store::MakeZoomIndex(const std::function<void(ZoomWriter& writer)>& add_slices) {
  CHECK(!temporary_path_.empty(), "the index of a published store is made");
  SONDE_ASSIGN_OR_RETURN(ZoomWriter writer,
                         ZoomWriter::Create(ZoomIndex::PathFor(path_), store_id_));
  add_slices(writer);
  if (options_.without_file) return {};
  zoom_ = std::make_unique<ZoomWriter>(std::move(writer));
  return {};
}

// From the slices that were added by MakeZoomIndex, else from the tables. Stores without slices
// need none.
Status Store::FinishZoomIndex() {
  if (zoom_ != nullptr) {
    if (rows_ == nullptr) SONDE_RETURN_IF_ERROR(AddTaskLanes(*this, *zoom_, false));
    if (zoom_->in_order()) return zoom_->Finish().Annotate("while making the zoom index");
  }
  SONDE_ASSIGN_OR_RETURN(const ResultTable any, Query("SELECT slice_id FROM slice_ LIMIT 1"));
  if (any.rows() == 0) return {};
  SONDE_ASSIGN_OR_RETURN(ZoomWriter writer,
                         BuildZoomIndex(*this, store_id_, ZoomIndex::PathFor(path_)));
  zoom_ = std::make_unique<ZoomWriter>(std::move(writer));
  return {};
}

Status Store::Execute(const std::string& sql) const {
  SONDE_ASSIGN_OR_RETURN(auto connection, internal::Connect(*database_));
  return connection->Execute(sql);
}

Status Store::Offer(std::shared_ptr<const MadeTables> made) const {
  return internal::OfferTables(*database_, std::move(made));
}

Result<std::vector<std::string>> Store::Names() const {
  std::vector<std::string> names;
  SONDE_RETURN_IF_ERROR(
      Scan("SELECT name_id, name FROM name_ ORDER BY name_id", [&](const Chunk& chunk) -> Status {
        const auto ids = chunk.Values<int32_t>(0);
        for (size_t row = 0; row < chunk.rows(); ++row) {
          if (ids[row] != static_cast<int64_t>(names.size())) {
            return base::CorruptDataError("the texts of the trace store are not numbered in order");
          }
          names.emplace_back(chunk.Text(1, row));
        }
        return {};
      }));
  return names;
}

}  // namespace sonde::store
