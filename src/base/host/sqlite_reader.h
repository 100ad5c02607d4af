// An SQLite database of another tool, read without touching it or other files in its folder.
//
// Opened read-only and immutable: no lock, no journal, no -shm file is made. The content of a
// write-ahead log (-wal) is not in the database yet; where such a log is not empty, both are copied
// into a temporary folder and read there, as SQLite would. Columns are found by name, whatever
// their order; a column that is not there reads as NULL. One thread. Errors: Status with SQLite's
// own text.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/host/private_folder.h"
#include "base/host/sql_name.h"
#include "base/status.h"

struct sqlite3;
struct sqlite3_stmt;

namespace sonde::base {

// The cells of one row by their place in the list of columns. Valid in the call only.
class SqliteRow {
 public:
  explicit SqliteRow(sqlite3_stmt* statement) : statement_(statement) {}

  bool IsNull(int column) const;
  // Integers, and texts and reals that hold an integer; nullopt for everything else.
  std::optional<int64_t> Int(int column) const;
  std::optional<double> Double(int column) const;
  // "" for NULL; numbers as SQLite prints them.
  std::string_view Text(int column) const;
  // Whether a cell that was read as a number holds another value that is not NULL.
  bool had_wrong_type() const { return had_wrong_type_; }
  // SQLite's own type code of the cell: 1 integer, 2 real, 3 text, 4 blob, 5 NULL.
  int Type(int column) const;
  // The cell as an SQL literal.
  std::string Literal(int column) const;

 private:
  template <class Value>
  std::optional<Value> Checked(std::optional<Value> value) const {
    had_wrong_type_ |= !value;
    return value;
  }

  sqlite3_stmt* statement_;
  mutable bool had_wrong_type_ = false;
};

struct SqliteObject {
  std::string type;  // "table", "index", "view", "trigger"
  std::string name;
  std::string table;  // that it belongs to
  std::string sql;
};

struct SqliteColumn {
  std::string name;
  std::string declared_type;
};

// SQLite's comparison of names, without regard to case.
bool EqualSqlNames(std::string_view a, std::string_view b);

using SqliteTake = std::function<void(const SqliteRow&)>;

class SqliteReader {
 public:
  static Result<SqliteReader> Open(const std::string& path);
  SqliteReader(SqliteReader&& other) noexcept;
  SqliteReader& operator=(SqliteReader&&) = delete;
  ~SqliteReader();

  const std::string& path() const { return path_; }
  // A URI for ATTACH in other statements while this object exists.
  const std::string& uri() const { return uri_; }
  // Whether a write-ahead log was read too.
  bool read_log() const { return temporary_folder_ != nullptr; }
  // In the order in which they were made.
  const std::vector<SqliteObject>& objects() const { return objects_; }

  bool HasTable(std::string_view name) const;
  bool HasColumn(std::string_view table, std::string_view column) const;
  const std::vector<SqliteColumn>& Columns(std::string_view table) const;

  // Calls `take` for each row of a table in stored order. Does nothing where there is no such
  // table. A failure in the middle (damaged file) comes after the rows before it.
  Status Read(std::string_view table, const std::vector<std::string_view>& columns,
              const SqliteTake& take) const;
  // The same for a statement.
  Status Query(const std::string& sql, const SqliteTake& take) const;

 private:
  SqliteReader(sqlite3* database, std::string path, std::string uri,
               std::unique_ptr<PrivateFolder> temporary_folder);
  Status Failure(std::string_view what) const;

  sqlite3* database_ = nullptr;
  std::string path_;
  std::string uri_;
  std::unique_ptr<PrivateFolder> temporary_folder_;  // null: read in place
  std::vector<SqliteObject> objects_;
  // Of the tables that were described: a description takes as long as some hundred rows.
  mutable std::map<std::string, std::vector<SqliteColumn>, std::less<>> columns_;
};

// Fails where SQLite itself refuses the database for its list of tables or its length; a
// SqliteReader saves parts of it. Databases with a log are not checked.
Status CheckSchema(const std::string& path);

// Of the whole program: SQLite's memory is not counted, which it does under a lock that all threads
// share, at each allocation. To be called before threads and databases; else without effect.
void LeaveSqliteMemoryUncounted();

// A database that is only read, as SQLite names it: no lock, no journal.
std::string SqliteUri(const std::string& path);

}  // namespace sonde::base
