#include "importers/ascend_db/sample.h"

#include <sqlite3.h>

#include <memory>
#include <vector>

#include "base/files.h"
#include "base/host/sqlite_reader.h"
#include "base/strings.h"
#include "importers/ascend/span.h"

namespace sonde::importers {
namespace {

using base::Concat;
using base::SqlName;

// Shares of the copied rows; the rest are the pieces in between.
constexpr double kHead = 0.5;
constexpr double kTail = 0.1;
constexpr int kPieces = 12;
constexpr int64_t kSmallTable = 5'000;  // rows; copied whole
constexpr std::string_view kTexts = "STRING_IDS";

struct Closer {
  void operator()(sqlite3* database) const { sqlite3_close(database); }
};

struct Table {
  std::string name;
  int64_t first = 0;  // rowid
  int64_t last = -1;
  int64_t rows() const { return last - first + 1; }
  bool is_whole() const { return rows() <= kSmallTable || name == kTexts; }
};

class Sample {
 public:
  static Result<Sample> Create(const std::string& path) {
    sqlite3* database = nullptr;
    constexpr int kFlags =
        SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    const int code = sqlite3_open_v2(path.c_str(), &database, kFlags, nullptr);
    Sample sample(database);
    if (code != SQLITE_OK) return sample.Failure();
    return sample;
  }

  Status Execute(const std::string& sql) {
    if (sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
      return Failure();
    return {};
  }

  // Of the attached database; those without rows or numbers of rows are left out.
  Result<std::vector<Table>> Tables() {
    std::vector<Table> tables;
    SONDE_RETURN_IF_ERROR(Query(
        "SELECT name FROM source.sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' "
        "AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY rowid",
        [&](sqlite3_stmt* row) {
          tables.push_back({.name = reinterpret_cast<const char*>(sqlite3_column_text(row, 0))});
        }));
    for (Table& table : tables) {
      // A table WITHOUT ROWID fails here, and stays empty.
      Query(Concat("SELECT min(rowid), max(rowid) FROM source.", SqlName(table.name)),
            [&](sqlite3_stmt* row) {
              if (sqlite3_column_type(row, 0) == SQLITE_NULL) return;
              table.first = sqlite3_column_int64(row, 0);
              table.last = sqlite3_column_int64(row, 1);
            })
          .IgnoreError();
    }
    std::erase_if(tables, [](const Table& table) { return table.rows() <= 0; });
    return tables;
  }

  // Rows of a table between two shares of it.
  Status Copy(const Table& table, double from, double to) {
    const auto at = [&](double share) {
      return table.first + static_cast<int64_t>(share * static_cast<double>(table.rows()));
    };
    return Execute(Concat("INSERT INTO main.", SqlName(table.name), " SELECT * FROM source.",
                          SqlName(table.name), " WHERE rowid >= ", std::to_string(at(from)),
                          " AND rowid < ", std::to_string(at(to))));
  }

 private:
  explicit Sample(sqlite3* database) : database_(database) {}

  Status Failure() const {
    return base::CorruptDataError(Concat(
        "no sample of the database: ",
        database_ == nullptr ? std::string("out of memory") : sqlite3_errmsg(database_.get())));
  }

  template <class Take>
  Status Query(const std::string& sql, Take&& take) {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(database_.get(), sql.c_str(), -1, &statement, nullptr) != SQLITE_OK)
      return Failure();
    int code = SQLITE_OK;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) take(statement);
    sqlite3_finalize(statement);
    return code == SQLITE_DONE ? Status() : Failure();
  }

  std::unique_ptr<sqlite3, Closer> database_;
};

Status CopyShare(Sample& sample, const Table& table, double share) {
  SONDE_RETURN_IF_ERROR(
      sample.Execute(Concat("CREATE TABLE main.", SqlName(table.name), " AS SELECT * FROM source.",
                            SqlName(table.name), " WHERE 0")));
  if (table.is_whole()) return sample.Copy(table, 0, 1);
  const double head = share * kHead;
  const double tail = 1 - share * kTail;
  const double piece = share * (1 - kHead - kTail) / kPieces;
  SONDE_RETURN_IF_ERROR(sample.Copy(table, 0, head));
  for (int i = 0; i < kPieces; ++i) {
    const double from = head + (tail - head) * (i + 0.5) / kPieces;
    SONDE_RETURN_IF_ERROR(sample.Copy(table, from, from + piece));
  }
  return sample.Copy(table, tail, 1);
}

}  // namespace

Status WriteDbSample(const std::string& path, const std::string& sample_path, size_t least_bytes,
                     int64_t rows) {
  SONDE_ASSIGN_OR_RETURN(const uint64_t size, base::FileSize(path));
  if (size < least_bytes || base::FileSize(path + "-wal").value_or(0) > 0) {
    return base::NotFoundError("no sample is needed");
  }
  SONDE_ASSIGN_OR_RETURN(Sample sample, Sample::Create(sample_path));
  SONDE_RETURN_IF_ERROR(sample.Execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF"));
  SONDE_RETURN_IF_ERROR(sample.Execute(
      Concat("ATTACH '", base::ReplaceAll(base::SqliteUri(path), "'", "''"), "' AS source")));
  SONDE_ASSIGN_OR_RETURN(const std::vector<Table> tables, sample.Tables());
  int64_t all = 0;
  for (const Table& table : tables) all += table.is_whole() ? 0 : table.rows();
  if (all <= 2 * rows) return base::NotFoundError("no sample is needed");
  const double share = static_cast<double>(rows) / static_cast<double>(all);
  SONDE_RETURN_IF_ERROR(sample.Execute("BEGIN"));
  for (const Table& table : tables) {
    SONDE_RETURN_IF_ERROR(CopyShare(sample, table, share));
  }
  return sample.Execute("COMMIT");
}

Result<std::string> WriteAscendDbPreview(const std::string& path, const std::string& folder) {
  const AscendSpan span = FindSpan(path);
  if (span.databases.empty()) return base::NotFoundError("no database");
  const std::string& database = span.databases.front().path;
  std::string sample = base::JoinPath(folder, base::BaseName(database));
  SONDE_RETURN_IF_ERROR(WriteDbSample(database, sample));
  return sample;
}

}  // namespace sonde::importers
