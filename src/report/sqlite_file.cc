#include "report/sqlite_file.h"

#include <sqlite3.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/files.h"
#include "base/host/folder_lock.h"
#include "base/host/sql_name.h"
#include "base/temporaries.h"

namespace sonde::report {

using base::Concat;

Result<SqliteFile> SqliteFile::Create(const std::string& path) {
  sqlite3* database = nullptr;
  // URIs are for databases that statements attach.
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI;
  const int code = sqlite3_open_v2(base::AbsolutePath(path).c_str(), &database, flags, nullptr);
  SqliteFile file(database, path);
  if (code != SQLITE_OK) return file.Failure("cannot create the database");
  // Rows are written as they were read: triggers of a copied table acted on them long ago.
  sqlite3_db_config(file.database_, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  SONDE_RETURN_IF_ERROR(file.Execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN"));
  return file;
}

SqliteFile::SqliteFile(sqlite3* database, std::string path)
    : database_(database), path_(std::move(path)) {}

SqliteFile::SqliteFile(SqliteFile&& other) noexcept
    : database_(std::exchange(other.database_, nullptr)), path_(std::move(other.path_)) {}

SqliteFile::~SqliteFile() { sqlite3_close(database_); }

Status SqliteFile::Failure(std::string_view what) const {
  const char* why = database_ == nullptr ? "out of memory" : sqlite3_errmsg(database_);
  const bool full = database_ != nullptr && sqlite3_errcode(database_) == SQLITE_FULL;
  std::string message = Concat(path_, ": ", what, ": ", why);
  return full ? base::ResourceExhaustedError(std::move(message))
              : base::InternalError(std::move(message));
}

Status SqliteFile::Execute(const std::string& sql) {
  if (sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return Failure("a statement failed");
}

Status SqliteFile::Close() {
  SONDE_RETURN_IF_ERROR(Execute("COMMIT"));
  if (sqlite3_close(database_) != SQLITE_OK) return Failure("cannot close the database");
  database_ = nullptr;
  return {};
}

namespace {

Status Fill(const std::string& path, const std::function<Status(SqliteFile&)>& fill) {
  SONDE_ASSIGN_OR_RETURN(SqliteFile file, SqliteFile::Create(path));
  SONDE_RETURN_IF_ERROR(fill(file));
  return file.Close();
}

// `content`: what the database begins with.
Status Publish(const std::string& path, std::string_view content,
               const std::function<Status(SqliteFile&)>& fill) {
  const std::string temporary = base::TemporaryNextTo(path);
  Status done = base::WriteFileAtomically(temporary, content);
  if (done.ok()) done = Fill(temporary, fill);
  if (done.ok() && std::rename(temporary.c_str(), path.c_str()) != 0) {
    done = base::ErrnoStatus(errno, "make", path);
  }
  if (!done.ok()) base::RemoveTree(temporary).IgnoreError();  // `done` is reported
  return done;
}

}  // namespace

Status WriteSqliteFile(const std::string& path, Before before,
                       const std::function<Status(SqliteFile&)>& fill) {
  if (before == Before::kReplace) return Publish(path, {}, fill);
  SONDE_ASSIGN_OR_RETURN(const auto lock, base::FolderLock::Take(std::string(base::DirName(path))));
  std::string content;
  if (base::IsRegularFile(path)) {
    SONDE_ASSIGN_OR_RETURN(content, base::ReadFile(path));
  }
  return Publish(path, content, fill);
}

Result<SqliteTable> SqliteTable::Create(SqliteFile& file, std::string_view name,
                                        std::string_view columns) {
  SONDE_RETURN_IF_ERROR(file.Execute(Concat("CREATE TABLE ", name, " (", columns, ")")));
  return Open(file, name, static_cast<size_t>(std::ranges::count(columns, ',')) + 1);
}

Result<SqliteTable> SqliteTable::Open(SqliteFile& file, std::string_view name, size_t columns) {
  std::string insert = Concat("INSERT INTO ", base::SqlName(name), " VALUES (?");
  for (size_t n = 1; n < columns; ++n) insert += ",?";
  insert += ')';
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(file.database_, insert.c_str(), -1, &statement, nullptr) != SQLITE_OK) {
    return file.Failure(Concat("cannot write the table ", name));
  }
  return SqliteTable(file, statement);
}

SqliteTable::SqliteTable(SqliteTable&& other) noexcept
    : file_(other.file_),
      insert_(std::exchange(other.insert_, nullptr)),
      column_(other.column_),
      failure_(std::move(other.failure_)) {}

SqliteTable::~SqliteTable() { sqlite3_finalize(insert_); }

SqliteTable& SqliteTable::Int(int64_t value) {
  sqlite3_bind_int64(insert_, ++column_, value);
  return *this;
}

SqliteTable& SqliteTable::Double(double value) {
  sqlite3_bind_double(insert_, ++column_, value);
  return *this;
}

SqliteTable& SqliteTable::Text(std::string_view value) {
  // Transient: the text may be gone when the row is written.
  sqlite3_bind_text(insert_, ++column_, value.data(), static_cast<int>(value.size()),
                    SQLITE_TRANSIENT);
  return *this;
}

SqliteTable& SqliteTable::Blob(std::string_view bytes) {
  sqlite3_bind_blob(insert_, ++column_, bytes.data(), static_cast<int>(bytes.size()),
                    SQLITE_TRANSIENT);
  return *this;
}

SqliteTable& SqliteTable::Null() {
  sqlite3_bind_null(insert_, ++column_);
  return *this;
}

void SqliteTable::End() {
  column_ = 0;
  if (!failure_.ok()) return;
  if (sqlite3_step(insert_) != SQLITE_DONE) failure_ = file_->Failure("cannot write a row");
  sqlite3_reset(insert_);
}

Status SqliteTable::Close() {
  sqlite3_finalize(std::exchange(insert_, nullptr));
  return failure_;
}

}  // namespace sonde::report
