#include "cluster/filter_db/smaller_db.h"

#include <algorithm>
#include <array>
#include <functional>

#include "base/files.h"
#include "base/host/sqlite_reader.h"
#include "base/strings.h"
#include "report/sqlite_file.h"

namespace sonde::cluster {
namespace {

using base::Concat;
using base::SqliteObject;
using base::SqliteReader;
using base::SqlName;
using report::SqliteFile;

constexpr std::string_view kStrings = "STRING_IDS";

// Tables that give the meaning of numbers in other tables, and describe the rank.
constexpr std::array<std::string_view, 8> kAlways = {
    kStrings,   "META_DATA", "SESSION_TIME_INFO", "RANK_DEVICE_MAP",
    "NPU_INFO", "HOST_INFO", "CONNECTION_IDS",    "STEP_TIME"};
constexpr std::array<std::string_view, 4> kMoments = {"startNs", "timestampNs", "timestamp",
                                                      "allocationTime"};

bool IsTableOfRows(const SqliteObject& object) {
  return object.type == "table" && !object.name.starts_with("sqlite_") &&
         !base::ToLower(object.sql).starts_with("create virtual");
}

// Which rows of a table stay, as an SQL condition.
class Choice {
 public:
  Choice(const SqliteReader& source, const SmallerOptions& options)
      : source_(source), options_(options) {}

  bool HasTable(const std::string& table) const {
    const auto is_it = [&](std::string_view name) { return EqualNames(name, table); };
    return options_.tables.empty() || table.starts_with("ENUM_") ||
           std::ranges::any_of(kAlways, is_it) || std::ranges::any_of(options_.tables, is_it);
  }

  std::string Of(const std::string& table) const {
    if (table == "TASK") return Concat(Begins(table), " AND ", IsLong());
    if (table == "PYTORCH_API" || table == "CANN_API") return OfCalls(table);
    if (table == "CONNECTION_IDS") return OfCallsDetails("connectionId");
    if (table == "PYTORCH_CALLCHAINS") return OfCallsDetails("callchainId");
    if (Has(table, "globalTaskId") && source_.HasTable("TASK")) {
      return "globalTaskId IN (SELECT id FROM temp.kept_task)";
    }
    return Begins(table);
  }

  // Tables that conditions ask.
  Status Prepare(SqliteFile& file) const {
    SONDE_RETURN_IF_ERROR(
        file.Execute("CREATE TEMP TABLE kept_task (id PRIMARY KEY) WITHOUT ROWID;"
                     "CREATE TEMP TABLE kept_connection (id PRIMARY KEY) WITHOUT ROWID"));
    if (Has("TASK", "globalTaskId")) {
      SONDE_RETURN_IF_ERROR(file.Execute(Fill("kept_task", "globalTaskId", "TASK")));
    }
    for (const char* table : {"TASK", "COMMUNICATION_OP"}) {
      if (!Has(table, "connectionId")) continue;
      SONDE_RETURN_IF_ERROR(file.Execute(Fill("kept_connection", "connectionId", table)));
    }
    return {};
  }

 private:
  static bool EqualNames(std::string_view a, std::string_view b) {
    return base::ToLower(a) == base::ToLower(b);
  }
  bool Has(std::string_view table, std::string_view column) const {
    return source_.HasTable(table) && source_.HasColumn(table, column);
  }

  std::string Fill(std::string_view into, std::string_view column, const std::string& table) const {
    return Concat("INSERT OR IGNORE INTO temp.", into, " SELECT ", column, " FROM src.", table,
                  " WHERE ", column, " IS NOT NULL AND (", Of(table), ")");
  }

  // Times are texts in some databases.
  std::string Begins(std::string_view table) const {
    const StepWindow all;
    const StepWindow& window = options_.window;
    if (window.begin_ns == all.begin_ns && window.end_ns == all.end_ns) return "1";
    for (const std::string_view moment : kMoments) {
      if (!Has(table, moment)) continue;
      return Concat("CAST(", moment, " AS INTEGER) BETWEEN ", std::to_string(window.begin_ns),
                    " AND ", std::to_string(window.end_ns));
    }
    return "1";
  }

  std::string IsLong() const {
    if (options_.min_dur_ns <= 0) return "1";
    return Concat("CAST(endNs AS INTEGER) - CAST(startNs AS INTEGER) >= ",
                  std::to_string(options_.min_dur_ns));
  }

  std::string OfCalls(const std::string& table) const {
    std::string own = Concat("(", Begins(table), " AND ", IsLong(), ")");
    if (!Has(table, "connectionId")) return own;
    const bool is_indirect = table == "PYTORCH_API" && Has("CONNECTION_IDS", "connectionId");
    const std::string_view leads =
        is_indirect ? "SELECT id FROM src.CONNECTION_IDS WHERE connectionId IN (SELECT id FROM "
                      "temp.kept_connection)"
                    : "SELECT id FROM temp.kept_connection";
    return Concat(own, " OR connectionId IN (", leads, ")");
  }

  std::string OfCallsDetails(std::string_view column) const {
    if (!Has("PYTORCH_API", column)) return "1";
    return Concat("id IN (SELECT ", column, " FROM src.PYTORCH_API WHERE ", OfCalls("PYTORCH_API"),
                  ")");
  }

  const SqliteReader& source_;
  const SmallerOptions& options_;
};

Status CopyTable(const SqliteObject& table, const std::string& condition, SqliteFile& file) {
  SONDE_RETURN_IF_ERROR(file.Execute(table.sql));
  const std::string name = SqlName(table.name);
  // Without an index rows stay in their order.
  return file.Execute(Concat("INSERT INTO main.", name, " SELECT * FROM src.", name,
                             " NOT INDEXED WHERE ", condition));
}

// Any number that a text goes by keeps that text, whichever column it stands in.
Status CopyStrings(const SqliteReader& source, const std::vector<const SqliteObject*>& tables,
                   const SqliteObject& strings, SqliteFile& file) {
  SONDE_RETURN_IF_ERROR(file.Execute("CREATE TEMP TABLE used (id INTEGER PRIMARY KEY)"));
  for (const SqliteObject* table : tables) {
    if (table->name.starts_with("ENUM_") || table == &strings) continue;
    for (const base::SqliteColumn& column : source.Columns(table->name)) {
      const std::string cell = SqlName(column.name);
      SONDE_RETURN_IF_ERROR(file.Execute(
          Concat("INSERT OR IGNORE INTO temp.used SELECT CAST(", cell, " AS INTEGER) FROM main.",
                 SqlName(table->name), " WHERE typeof(", cell, ") IN ('integer', 'text') AND CAST(",
                 cell, " AS INTEGER) BETWEEN (SELECT min(id) FROM src.STRING_IDS) AND (SELECT ",
                 "max(id) FROM src.STRING_IDS)")));
    }
  }
  return CopyTable(strings, "id IN (SELECT id FROM temp.used)", file);
}

// Indices and views of tables that are there.
Status CopyRest(const SqliteReader& source, const std::vector<const SqliteObject*>& tables,
                SqliteFile& file) {
  for (const SqliteObject& object : source.objects()) {
    const bool is_of_table = std::ranges::any_of(
        tables, [&](const SqliteObject* table) { return table->name == object.table; });
    const bool is_wanted = object.type == "view" || (object.type == "index" && is_of_table);
    if (is_wanted && !object.sql.empty()) SONDE_RETURN_IF_ERROR(file.Execute(object.sql));
  }
  return {};
}

Status Attach(const SqliteReader& source, SqliteFile& file) {
  const std::string uri = base::ReplaceAll(source.uri(), "'", "''");
  return file.Execute(Concat("COMMIT; ATTACH DATABASE '", uri, "' AS src; BEGIN"));
}

Result<int64_t> CountRows(const SqliteReader& database) {
  int64_t rows = 0;
  for (const SqliteObject& object : database.objects()) {
    if (!IsTableOfRows(object)) continue;
    SONDE_RETURN_IF_ERROR(
        database.Query(Concat("SELECT count(*) FROM ", SqlName(object.name)),
                       [&](const base::SqliteRow& row) { rows += row.Int(0).value_or(0); }));
  }
  return rows;
}

Status CopyChosen(const SqliteReader& source, const SmallerOptions& options, SqliteFile& file) {
  const Choice choice(source, options);
  SONDE_RETURN_IF_ERROR(choice.Prepare(file));
  std::vector<const SqliteObject*> kept;
  const SqliteObject* strings = nullptr;
  for (const SqliteObject& object : source.objects()) {
    if (!IsTableOfRows(object) || !choice.HasTable(object.name)) continue;
    kept.push_back(&object);
    if (object.name == kStrings && source.HasColumn(kStrings, "id")) {
      strings = &object;
    } else {
      SONDE_RETURN_IF_ERROR(CopyTable(object, choice.Of(object.name), file));
    }
  }
  if (strings != nullptr) SONDE_RETURN_IF_ERROR(CopyStrings(source, kept, *strings, file));
  return CopyRest(source, kept, file);
}

}  // namespace

Result<SmallerDb> WriteSmallerDb(const std::string& source, const std::string& target,
                                 const SmallerOptions& options) {
  SmallerDb smaller;
  SONDE_ASSIGN_OR_RETURN(const auto from, SqliteReader::Open(source));
  SONDE_ASSIGN_OR_RETURN(auto file, SqliteFile::Create(target));
  SONDE_RETURN_IF_ERROR(Attach(from, file));
  SONDE_RETURN_IF_ERROR(CopyChosen(from, options, file).Annotate(source));
  SONDE_RETURN_IF_ERROR(file.Close());
  for (const SqliteObject& object : from.objects()) {
    if (IsTableOfRows(object)) smaller.tables.push_back(object.name);
  }
  SONDE_ASSIGN_OR_RETURN(const auto to, SqliteReader::Open(target));
  SONDE_ASSIGN_OR_RETURN(smaller.rows_before, CountRows(from));
  SONDE_ASSIGN_OR_RETURN(smaller.rows_after, CountRows(to));
  SONDE_ASSIGN_OR_RETURN(smaller.bytes_before, base::FileSize(source));
  SONDE_ASSIGN_OR_RETURN(smaller.bytes_after, base::FileSize(target));
  return smaller;
}

Status WriteStepOfAnalysis(const std::string& source, const std::string& target, int64_t step_id) {
  SONDE_ASSIGN_OR_RETURN(const auto from, SqliteReader::Open(source));
  SONDE_ASSIGN_OR_RETURN(auto file, SqliteFile::Create(target));
  SONDE_RETURN_IF_ERROR(Attach(from, file));
  const std::string step = std::to_string(step_id);
  for (const SqliteObject& object : from.objects()) {
    if (!IsTableOfRows(object)) continue;
    const bool is_of_steps = step_id >= 0 && from.HasColumn(object.name, "step");
    const std::string condition =
        is_of_steps ? Concat("step IN ('", step, "', 'step", step, "')") : "1";
    SONDE_RETURN_IF_ERROR(CopyTable(object, condition, file).Annotate(source));
  }
  return file.Close();
}

}  // namespace sonde::cluster
