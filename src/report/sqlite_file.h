// An SQLite database being written: tables declared and filled once, then closed.
//
// The file lies in a folder that appears as a whole (AtomicDirectory), so there is no journal and
// nothing is synchronised on the way. One thread. Errors: Status with SQLite's own text and the
// path.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

struct sqlite3;
struct sqlite3_stmt;

namespace sonde::report {

class SqliteFile {
 public:
  static Result<SqliteFile> Create(const std::string& path);
  SqliteFile(SqliteFile&& other) noexcept;
  SqliteFile& operator=(SqliteFile&&) = delete;
  ~SqliteFile();

  Status Execute(const std::string& sql);
  // Commits and closes; no further use.
  Status Close();

 private:
  friend class SqliteTable;
  SqliteFile(sqlite3* database, std::string path);
  Status Failure(std::string_view what) const;

  sqlite3* database_;
  std::string path_;
};

enum class Before : uint8_t { kKeep, kReplace };

// Fills a database under a temporary name, which then becomes `path`: as a whole, or not at all.
// kKeep begins with what `path` holds, with its folder locked: another process that adds its own
// tables at the same time loses nothing.
Status WriteSqliteFile(const std::string& path, Before before,
                       const std::function<Status(SqliteFile&)>& fill);

// Rows of one table: bind the cells in the order of the columns, then End(). The first failure is
// kept and returned by Close().
class SqliteTable {
 public:
  // `columns`: as in CREATE TABLE, "id INTEGER, name TEXT". The table is made.
  static Result<SqliteTable> Create(SqliteFile& file, std::string_view name,
                                    std::string_view columns);
  // For a table that is there already.
  static Result<SqliteTable> Open(SqliteFile& file, std::string_view name, size_t columns);
  SqliteTable(SqliteTable&& other) noexcept;
  SqliteTable& operator=(SqliteTable&&) = delete;
  ~SqliteTable();

  SqliteTable& Int(int64_t value);
  SqliteTable& Double(double value);
  SqliteTable& Text(std::string_view value);
  SqliteTable& Blob(std::string_view bytes);
  SqliteTable& Null();
  // Null where the value is negative: unknown.
  SqliteTable& KnownInt(int64_t value) { return value < 0 ? Null() : Int(value); }
  SqliteTable& OptionalInt(std::optional<int64_t> value) { return value ? Int(*value) : Null(); }
  void End();

  Status Close();

 private:
  SqliteTable(SqliteFile& file, sqlite3_stmt* insert) : file_(&file), insert_(insert) {}

  SqliteFile* file_;
  sqlite3_stmt* insert_;
  int column_ = 0;
  Status failure_;
};

}  // namespace sonde::report
