#include "base/host/sqlite_reader.h"

#include <sqlite3.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "base/files.h"
#include "base/strings.h"

namespace sonde::base {
namespace {

constexpr std::string_view kHexDigits = "0123456789ABCDEF";

// The path as part of a URI.
std::string UriPath(const std::string& path) {
  std::string out;
  for (const char c : AbsolutePath(path)) {
    if (c == '%' || c == '?' || c == '#') {
      const auto byte = static_cast<unsigned char>(c);
      out += '%';
      out += kHexDigits[byte >> 4U];
      out += kHexDigits[byte & 15U];
    } else {
      out += c;
    }
  }
  return out;
}

// Database and log in a new folder, where SQLite may write.
Result<std::unique_ptr<PrivateFolder>> CopyWithLog(const std::string& path) {
  SONDE_ASSIGN_OR_RETURN(auto folder, PrivateFolder::Make("database"));
  for (const char* suffix : {"", "-wal"}) {
    SONDE_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path + suffix));
    SONDE_RETURN_IF_ERROR(
        WriteFileAtomically(JoinPath(folder->path(), Concat("copy.db", suffix)), bytes));
  }
  return folder;
}

std::string HexLiteral(const void* data, size_t size) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  std::string out = "X'";
  for (size_t i = 0; i < size; ++i) {
    out += kHexDigits[bytes[i] >> 4U];
    out += kHexDigits[bytes[i] & 15U];
  }
  return out + "'";
}

}  // namespace

bool EqualSqlNames(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return a.size() == b.size() && std::ranges::equal(a, b, {}, lower, lower);
}

void LeaveSqliteMemoryUncounted() { sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }

std::string SqliteUri(const std::string& path) {
  return Concat("file:", UriPath(path), "?mode=ro&immutable=1");
}

bool SqliteRow::IsNull(int column) const { return Type(column) == SQLITE_NULL; }

int SqliteRow::Type(int column) const { return sqlite3_column_type(statement_, column); }

std::optional<int64_t> SqliteRow::Int(int column) const {
  // The cell is looked up once for its type and its value; two calls by the column take twice as
  // long.
  sqlite3_value* const cell = sqlite3_column_value(statement_, column);
  switch (sqlite3_value_type(cell)) {
    case SQLITE_INTEGER:
      return sqlite3_value_int64(cell);
    case SQLITE_TEXT:
      return Checked(ParseInt64(Trim(Text(column))));
    case SQLITE_FLOAT: {
      const double value = sqlite3_value_double(cell);
      constexpr double kExact = 9007199254740992.0;  // 2^53
      if (!(std::fabs(value) <= kExact)) return Checked(std::optional<int64_t>());
      return std::llround(value);
    }
    case SQLITE_BLOB:
      return Checked(std::optional<int64_t>());
    default:
      return std::nullopt;
  }
}

std::optional<double> SqliteRow::Double(int column) const {
  switch (Type(column)) {
    case SQLITE_INTEGER:
    case SQLITE_FLOAT:
      return sqlite3_column_double(statement_, column);
    case SQLITE_TEXT:
      return Checked(ParseDouble(Trim(Text(column))));
    case SQLITE_BLOB:
      return Checked(std::optional<double>());
    default:
      return std::nullopt;
  }
}

std::string_view SqliteRow::Text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  if (text == nullptr) return {};
  return {text, static_cast<size_t>(sqlite3_column_bytes(statement_, column))};
}

std::string SqliteRow::Literal(int column) const {
  switch (Type(column)) {
    case SQLITE_INTEGER:
      return std::to_string(sqlite3_column_int64(statement_, column));
    case SQLITE_FLOAT: {
      std::string text = PythonDoubleText(sqlite3_column_double(statement_, column));
      if (text == "inf") return "9e999";
      if (text == "-inf") return "-9e999";
      return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
    }
    case SQLITE_TEXT:
      return Concat("'", ReplaceAll(Text(column), "'", "''"), "'");
    case SQLITE_BLOB: {
      const void* data = sqlite3_column_blob(statement_, column);
      return HexLiteral(data, static_cast<size_t>(sqlite3_column_bytes(statement_, column)));
    }
    default:
      return "NULL";
  }
}

Status CheckSchema(const std::string& path) {
  if (FileSize(path + "-wal").value_or(0) > 0) return {};
  sqlite3* database = nullptr;
  const int flags = SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_READONLY;
  int code = sqlite3_open_v2(SqliteUri(path).c_str(), &database, flags, nullptr);
  constexpr const char* kSql = "SELECT count(*) FROM sqlite_master";
  if (code == SQLITE_OK) code = sqlite3_exec(database, kSql, nullptr, nullptr, nullptr);
  Status status;
  if (code != SQLITE_OK) {
    status = CorruptDataError(database == nullptr ? std::string("out of memory")
                                                  : sqlite3_errmsg(database));
  }
  sqlite3_close(database);
  return status;
}

SqliteReader::SqliteReader(sqlite3* database, std::string path, std::string uri,
                           std::unique_ptr<PrivateFolder> temporary_folder)
    : database_(database),
      path_(std::move(path)),
      uri_(std::move(uri)),
      temporary_folder_(std::move(temporary_folder)) {}

SqliteReader::SqliteReader(SqliteReader&& other) noexcept
    : database_(std::exchange(other.database_, nullptr)),
      path_(std::move(other.path_)),
      uri_(std::move(other.uri_)),
      temporary_folder_(std::move(other.temporary_folder_)),
      objects_(std::move(other.objects_)),
      columns_(std::move(other.columns_)) {}

SqliteReader::~SqliteReader() { sqlite3_close(database_); }

Status SqliteReader::Failure(std::string_view what) const {
  const char* why = database_ == nullptr ? "out of memory" : sqlite3_errmsg(database_);
  return CorruptDataError(Concat(path_, ": ", what, ": ", why));
}

Result<SqliteReader> SqliteReader::Open(const std::string& path) {
  SONDE_ASSIGN_OR_RETURN(const uint64_t size, FileSize(path));
  if (size == 0) return CorruptDataError(Concat("'", path, "' is empty"));
  std::unique_ptr<PrivateFolder> folder;
  if (FileSize(path + "-wal").value_or(0) > 0) {
    SONDE_ASSIGN_OR_RETURN(folder, CopyWithLog(path));
  }
  const std::string uri = folder == nullptr
                              ? SqliteUri(path)
                              : Concat("file:", UriPath(JoinPath(folder->path(), "copy.db")));
  sqlite3* database = nullptr;
  const int flags = SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX |
                    (folder == nullptr ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE);
  const int code = sqlite3_open_v2(uri.c_str(), &database, flags, nullptr);
  SqliteReader reader(database, path, uri, std::move(folder));
  if (code != SQLITE_OK) return reader.Failure("cannot open the database");
  // Else SQLite refuses a file that is cut off; so its tables are read up to where it ends.
  SONDE_RETURN_IF_ERROR(reader.Query("PRAGMA writable_schema = ON", [](const SqliteRow&) {}));
  SONDE_RETURN_IF_ERROR(reader.Query(
      "SELECT type, name, tbl_name, sql FROM sqlite_master", [&](const SqliteRow& row) {
        reader.objects_.push_back({std::string(row.Text(0)), std::string(row.Text(1)),
                                   std::string(row.Text(2)), std::string(row.Text(3))});
      }));
  return reader;
}

bool SqliteReader::HasTable(std::string_view name) const {
  for (const SqliteObject& object : objects_) {
    if (object.type == "table" && EqualSqlNames(object.name, name)) return true;
  }
  return false;
}

const std::vector<SqliteColumn>& SqliteReader::Columns(std::string_view table) const {
  const auto known = columns_.find(table);
  if (known != columns_.end()) return known->second;
  std::vector<SqliteColumn>& columns = columns_[std::string(table)];
  // A table that cannot be described has no columns; reading it reports the reason.
  Query(Concat("PRAGMA table_info(", SqlName(table), ")"), [&](const SqliteRow& row) {
    columns.push_back({std::string(row.Text(1)), std::string(row.Text(2))});
  }).IgnoreError();
  return columns;
}

bool SqliteReader::HasColumn(std::string_view table, std::string_view column) const {
  for (const SqliteColumn& present : Columns(table)) {
    if (EqualSqlNames(present.name, column)) return true;
  }
  return false;
}

Status SqliteReader::Read(std::string_view table, const std::vector<std::string_view>& columns,
                          const SqliteTake& take) const {
  if (!HasTable(table)) return {};
  const std::vector<SqliteColumn>& present = Columns(table);
  std::string list;
  for (const std::string_view column : columns) {
    std::string cell = "NULL";
    for (const SqliteColumn& candidate : present) {
      if (EqualSqlNames(candidate.name, column)) cell = SqlName(candidate.name);
    }
    list += Concat(list.empty() ? "" : ", ", cell);
  }
  return Query(Concat("SELECT ", list, " FROM ", SqlName(table)), take);
}

Status SqliteReader::Query(const std::string& sql, const SqliteTake& take) const {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(database_, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) {
    return Failure("cannot read the database");
  }
  int code = sqlite3_step(statement);
  for (; code == SQLITE_ROW; code = sqlite3_step(statement)) take(SqliteRow(statement));
  Status status;
  if (code != SQLITE_DONE) status = Failure("cannot read the database");
  sqlite3_finalize(statement);
  return status;
}

}  // namespace sonde::base
