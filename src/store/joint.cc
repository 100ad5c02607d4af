#include "store/joint.h"

#include <algorithm>
#include <map>
#include <span>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/files.h"
#include "base/strings.h"
#include "store/duckdb_handles.h"
#include "store/lake_catalog.h"
#include "store/made_tables.h"
#include "store/open_database.h"
#include "store/own_tables.h"
#include "store/schema.h"
#include "store/schema_check.h"
#include "store/schema_template.h"
#include "store/sql_text.h"
#include "store/statement_process.h"
#include "store/statement_watch.h"
#include "store/user_statements.h"

namespace sonde::store {
namespace {

using base::Concat;
using internal::Connection;

std::string Number(int32_t number) {
  return number < 0 ? "NULL::INTEGER" : Concat(std::to_string(number), "::INTEGER");
}

struct Files {
  const std::vector<StoreFile>& list;
  bool is_single;  // the tables are its own
};

bool IsSingle(const std::vector<StoreFile>& files) {
  return files.size() == 1 && files.front().traces.size() == 1 && !files.front().is_pack;
}

// The name under which the file is attached.
std::string Alias(const Files& files, size_t place) {
  if (files.is_single) return "r0";
  if (files.list[place].is_pack) return Concat("pack", std::to_string(place));
  return Concat("r", std::to_string(files.list[place].traces.front().trace));
}

bool HasColumn(const TableInfo& table, std::string_view name) {
  return std::any_of(table.columns.begin(), table.columns.end(),
                     [&](const ColumnInfo& column) { return column.name == name; });
}

// The rows of one table of a file with the columns in front.
std::string Arm(const Files& files, size_t place, std::string_view table, bool has_rank) {
  const std::string from = Concat(Alias(files, place), ".", SqlName(table));
  if (files.is_single && files.list[place].is_pack && table != "name_") {
    return Concat("SELECT * EXCLUDE (trace) FROM ", from,
                  " WHERE trace = ", std::to_string(files.list[place].traces.front().place));
  }
  if (files.is_single) return Concat("SELECT * FROM ", from);
  if (files.list[place].is_pack) {
    // Texts are those of all its traces.
    const bool has_trace = table != "name_";
    const std::string rank = has_rank ? "" : "l.rank, ";
    if (!has_trace) {
      return Concat("SELECT NULL::INTEGER AS trace, NULL::INTEGER AS run, ",
                    has_rank ? "" : "NULL::INTEGER AS rank, ", "* FROM ", from);
    }
    return Concat("SELECT l.trace, l.run, ", rank, "p.* EXCLUDE (trace) FROM ", from,
                  " p JOIN packed_ l ON l.place = p.trace AND l.pack = ", std::to_string(place));
  }
  const TraceLabel& label = files.list[place].traces.front();
  return Concat("SELECT ", Number(label.trace), " AS trace, ", Number(label.run), " AS run, ",
                has_rank ? "" : Concat(Number(label.rank), " AS rank, "), "* FROM ", from);
}

std::string ViewOf(std::string_view table, bool has_rank, const Files& files) {
  std::string sql = Concat("CREATE VIEW \"", table, "\" AS ");
  for (size_t i = 0; i < files.list.size(); ++i) {
    sql += Concat(i > 0 ? " UNION ALL " : "", Arm(files, i, table, has_rank));
  }
  return sql;
}

// The labels of all traces; `pack` is NULL for one with a file of its own.
std::string LabelTable(const Files& files) {
  std::string sql =
      "CREATE TABLE packed_ AS SELECT * FROM (VALUES (NULL::INTEGER, NULL::INTEGER, NULL::INTEGER, "
      "NULL::INTEGER, NULL::INTEGER, NULL::VARCHAR)";
  for (size_t i = 0; i < files.list.size(); ++i) {
    for (const TraceLabel& label : files.list[i].traces) {
      sql += Concat(", (", files.list[i].is_pack ? std::to_string(i) : "NULL", ", ",
                    std::to_string(label.place), ", ", std::to_string(label.trace), ", ",
                    std::to_string(label.run), ", ", Number(label.rank), ", ", SqlText(label.path),
                    ")");
    }
  }
  return sql + ") AS l(pack, place, trace, run, rank, path) WHERE trace IS NOT NULL";
}

// The other labels are in the tables.
constexpr std::string_view kTraceTable =
    "CREATE TABLE trace AS SELECT l.trace, l.run, l.rank, h.host, m.role, l.path FROM packed_ l "
    "LEFT JOIN (SELECT trace, min(host) AS host FROM process GROUP BY trace) h USING (trace) "
    "LEFT JOIN (SELECT trace, min(trim(value, '\"')) AS role FROM metadata WHERE key = 'role' "
    "GROUP BY trace) m USING (trace) ORDER BY l.trace";
constexpr std::string_view kSingleTraceTable =
    "CREATE TABLE memory.main.trace AS "
    "SELECT l.trace, l.run, l.rank, (SELECT min(host) FROM process) AS host, "
    "(SELECT min(trim(value, '\"')) FROM metadata WHERE key = 'role') AS role, l.path "
    "FROM packed_ l";

// The same check as schema_check.h makes for a store that is opened by itself.
Status CheckTables(Connection& connection, const std::string& path, const std::string& alias) {
  const std::string signature =
      base::ReplaceAll(kSignatureQuery, "current_database()", SqlText(alias));
  SONDE_ASSIGN_OR_RETURN(
      const int64_t same,
      connection.Number(Concat("SELECT count(*) FROM (", signature, ") AS found(signature) ",
                               "WHERE signature = ", SqlText(SchemaSignature()))));
  return same == 1 ? Status() : NotOurTables(path);
}

Status Attach(Connection& connection, const StoreFile& file, const std::string& alias) {
  if (!base::PathExists(file.path)) {
    return base::NotFoundError(Concat("there is no trace store '", file.path, "'"));
  }
  const Status attached =
      connection.Execute(Concat("ATTACH ", SqlText(file.path), " AS ", alias, " (READ_ONLY)"));
  if (!attached.ok()) {
    return base::CorruptDataError(
        Concat("cannot open the trace store '", file.path, "': ", attached.message()));
  }
  const auto version = connection.Number(Concat("SELECT schema_version FROM ", alias, ".",
                                                file.is_pack ? "pack_info_" : "store_info_"));
  if (!version.ok()) {
    return base::CorruptDataError(Concat("'", file.path, "' is a database, but not a trace store"));
  }
  SONDE_RETURN_IF_ERROR(internal::CheckSchemaVersion(file.path, *version));
  if (file.is_pack) return {};  // made by this user, in a folder of her own
  return CheckTables(connection, file.path, alias);
}

// Tables that only some stores have: the columns of one that others lack are NULL there.
Status JoinOwnTables(const internal::Database& database, Connection& connection,
                     const Files& files) {
  std::map<std::string, std::string> views;
  for (size_t i = 0; i < files.list.size(); ++i) {
    if (files.list[i].is_pack) continue;  // has the declared ones alone
    SONDE_ASSIGN_OR_RETURN(
        const ResultTable own,
        internal::Query(database, internal::OwnTablesSql(SqlText(Alias(files, i)))));
    for (size_t row = 0; row < own.rows(); ++row) {
      const bool has_rank = own.Int(1, row) > 0;
      std::string& sql = views[own.Text(0, row)];
      sql += Concat(sql.empty() ? "" : " UNION ALL BY NAME ",
                    Arm(files, i, own.Text(0, row), has_rank));
    }
  }
  for (const auto& [name, sql] : views) {
    SONDE_RETURN_IF_ERROR(connection.Execute(Concat("CREATE VIEW ", SqlName(name), " AS ", sql)));
  }
  return {};
}

struct JointColumn {
  std::string_view name;
  std::string_view type;
  std::string_view meaning;
};

constexpr JointColumn kTraceColumns[] = {
    {"trace", "INTEGER", "number of the trace in the job: its key"},
    {"run", "INTEGER", "number of its run; traces of one launch have one"},
    {"rank", "INTEGER", "global rank; NULL: it has none"},
    {"host", "VARCHAR", "host name"},
    {"role", "VARCHAR", "main, or worker for a helper process of a rank"},
    {"path", "VARCHAR", "path that was opened"},
};

constexpr std::string_view kJointRule =
    "Over several traces each table has columns trace, run and rank in front. Numbers of slices "
    "and the like are a trace's own: joins go by trace too, USING (trace, slice_id).";

}  // namespace

Status internal::JoinStores(Database& database, Connection& connection,
                            const std::vector<StoreFile>& list, bool is_single) {
  const Files files{list, is_single};
  for (size_t i = 0; i < list.size(); ++i) {
    SONDE_RETURN_IF_ERROR(Attach(connection, list[i], Alias(files, i)));
  }
  SONDE_RETURN_IF_ERROR(connection.Execute(LabelTable(files)));
  if (is_single && !list.front().is_pack) {
    // All that the store holds is seen as where it is opened by itself.
    database.search_path = "r0.main,memory.main";
    SONDE_RETURN_IF_ERROR(
        connection.Execute(Concat("SET search_path = '", database.search_path, "'")));
    return connection.Execute(std::string(kSingleTraceTable));
  }
  SONDE_RETURN_IF_ERROR(JoinOwnTables(database, connection, files));
  for (const TableInfo& table : Tables()) {
    SONDE_RETURN_IF_ERROR(connection.Execute(ViewOf(table.name, HasColumn(table, "rank"), files)));
  }
  SONDE_RETURN_IF_ERROR(connection.Execute(ViewOf("args", false, files)));
  return connection.Execute(std::string(is_single ? kSingleTraceTable : kTraceTable));
}

JointStore::JointStore(std::unique_ptr<internal::Database> database)
    : database_(std::move(database)) {}
JointStore::~JointStore() = default;

Result<std::unique_ptr<JointStore>> JointStore::Open(const std::vector<StoreFile>& files,
                                                     Columns columns, const JointOptions& options) {
  CHECK(columns == Columns::kLeading || IsSingle(files),
        "only a store by itself has columns of its own");
  std::unique_ptr<JointStore> joint(new JointStore(nullptr));
  joint->limits_ = options.limits;
  if (!options.limits.program.empty()) {
    using View = internal::StatementPlan::View;
    SONDE_ASSIGN_OR_RETURN(joint->processes_,
                           internal::StatementProcesses::Open(
                               {.view = columns == Columns::kOwn ? View::kOwn : View::kLeading,
                                .files = files,
                                .threads = options.threads,
                                .limits = options.limits,
                                .reads_files = options.reads_files}));
    return joint;
  }
  SONDE_ASSIGN_OR_RETURN(joint->database_, internal::OpenJoint(files, columns, options, nullptr));
  return joint;
}

Result<std::unique_ptr<internal::Database>> internal::OpenJoint(
    const std::vector<StoreFile>& files, JointStore::Columns columns, const JointOptions& options,
    std::unique_ptr<base::PrivateFolder> spill) {
  auto database = std::make_unique<Database>();
  database->spill = std::move(spill);
  SONDE_RETURN_IF_ERROR(
      OpenInto(":memory:", Use::kUnlocked, {.threads = options.threads}, *database));
  SONDE_ASSIGN_OR_RETURN(const auto connection, Connect(*database));
  if (columns == JointStore::Columns::kOwn) {
    SONDE_RETURN_IF_ERROR(Attach(*connection, files.front(), "store"));
    database->is_attached = true;  // from now on connections see its content
  } else if (files.size() == 1 && files.front().traces.empty()) {  // OpenLake
    SONDE_RETURN_IF_ERROR(JoinLake(*database, *connection, files.front().path));
  } else {
    SONDE_RETURN_IF_ERROR(JoinStores(*database, *connection, files, false));
  }
  SONDE_RETURN_IF_ERROR(
      LimitStatements(*connection, options.limits.memory_bytes, options.reads_files));
  return database;
}

Result<std::unique_ptr<JointStore>> JointStore::OpenPack(const std::string& path,
                                                         const StoreOptions& options) {
  SONDE_ASSIGN_OR_RETURN(auto database,
                         internal::OpenDatabase(path, internal::Use::kReading, options));
  SONDE_ASSIGN_OR_RETURN(const auto connection, internal::Connect(*database));
  SONDE_ASSIGN_OR_RETURN(const int64_t version,
                         connection->Number("SELECT schema_version FROM pack_info_"));
  SONDE_RETURN_IF_ERROR(internal::CheckSchemaVersion(path, version));
  std::unique_ptr<JointStore> pack(new JointStore(std::move(database)));
  SONDE_ASSIGN_OR_RETURN(pack->source_stamp_,
                         connection->Number("SELECT source_stamp FROM pack_info_"));
  return pack;
}

Status JointStore::Offer(std::shared_ptr<const MadeTables> made) const {
  if (processes_ != nullptr) return processes_->Offer(std::move(made));
  return internal::OfferTables(*database_, std::move(made));
}

Result<ResultTable> JointStore::Query(const std::string& sql) const {
  if (processes_ == nullptr) return internal::Query(*database_, sql);
  return internal::Collect([&](const auto& begin, const auto& consume) {
    return processes_->Run(sql, internal::Asker::kSonde, begin, consume, nullptr);
  });
}

Status JointStore::Scan(const std::string& sql,
                        const std::function<Status(const Chunk&)>& consume) const {
  if (processes_ == nullptr) return internal::Scan(*database_, sql, consume);
  const auto begin = [](const std::vector<QueryColumn>&) { return Status(); };
  return processes_->Run(sql, internal::Asker::kSonde, begin, consume, nullptr);
}

Status JointStore::ScanWithColumns(
    const std::string& sql, const std::function<Status(const std::vector<QueryColumn>&)>& begin,
    const std::function<Status(const Chunk&)>& consume) const {
  if (processes_ != nullptr) {
    return processes_->Run(sql, internal::Asker::kUser, begin, consume, nullptr);
  }
  return internal::Watched(limits_, nullptr, [&](Cancellation* cancellation) {
    return internal::RunStatement(*database_, sql, internal::Asker::kUser, begin, consume,
                                  cancellation);
  });
}

Status JointStore::WriteParquet(const std::string& sql, const std::string& path) const {
  if (processes_ != nullptr) return processes_->WriteParquet(sql, path, nullptr);
  return internal::Watched(limits_, nullptr, [&](Cancellation* cancellation) {
    return internal::WriteParquetTo(*database_, sql, path, cancellation);
  });
}

std::string internal::TraceColumnsSql() {
  std::string columns;
  for (const JointColumn& column : kTraceColumns) {
    columns += Concat(columns.empty() ? "" : ", ", column.name, " ", column.type);
  }
  return columns;
}

std::string JointSchemaText() {
  std::string out = "trace: of several traces, a row for each\n";
  for (const JointColumn& column : kTraceColumns) {
    std::string line = Concat("  ", column.name);
    line.resize(26, ' ');
    line += column.type;
    line.resize(36, ' ');
    out += Concat(line, column.meaning, "\n");
  }
  return Concat(out, kJointRule, "\n");
}

std::string JointSchemaMarkdown() {
  std::string out = Concat("\n## trace\n\nA row for each trace; only in statements over several. ",
                           kJointRule, "\n\n| Column | Type | Meaning |\n|---|---|---|\n");
  for (const JointColumn& column : kTraceColumns) {
    out += Concat("| `", column.name, "` | ", column.type, " | ", column.meaning, " |\n");
  }
  return out;
}

}  // namespace sonde::store
