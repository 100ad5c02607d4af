#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/files.h"
#include "base/strings.h"
#include "base/temporaries.h"
#include "store/lake.h"
#include "store/lake_catalog.h"
#include "store/open_database.h"
#include "store/sql_text.h"
#include "store/user_statements.h"

namespace sonde::store {
namespace {

using base::Concat;
using internal::Connection;
using internal::Database;
using internal::LakeTable;

std::string RankValue(int64_t rank) { return rank < 0 ? "NULL" : std::to_string(rank); }

// "run=0/rank=3", with Hive's name for a rank that is not known.
std::string PartitionOf(int32_t run, int64_t rank) {
  return Concat("run=", std::to_string(run),
                "/rank=", rank < 0 ? "__HIVE_DEFAULT_PARTITION__" : std::to_string(rank));
}

// What a lake has before traces are added.
struct Present {
  struct Trace {
    int32_t number;
    int32_t run;
    int64_t rank;
    std::string path;
    bool is_whole;
  };
  std::map<std::string, int32_t> runs;  // by name
  std::map<std::string, Trace> traces;  // by key
  // The key of a rank's trace that is whole, by run and rank.
  std::map<std::pair<int32_t, int64_t>, std::string> ranks;
  int32_t next_trace = 0;
};

Result<Present> ReadPresent(const Database& database) {
  Present present;
  SONDE_ASSIGN_OR_RETURN(
      const ResultTable runs,
      internal::Query(database, "SELECT name, run::BIGINT FROM lake_.sonde_run"));
  for (size_t row = 0; row < runs.rows(); ++row) {
    present.runs[runs.Text(0, row)] = static_cast<int32_t>(runs.Int(1, row));
  }
  SONDE_ASSIGN_OR_RETURN(
      const ResultTable traces,
      internal::Query(database,
                      "SELECT key, trace::BIGINT, run::BIGINT, coalesce(rank, -1)::BIGINT, "
                      "path, is_whole FROM lake_.sonde_trace"));
  for (size_t row = 0; row < traces.rows(); ++row) {
    const auto number = static_cast<int32_t>(traces.Int(1, row));
    present.traces[traces.Text(0, row)] = {number, static_cast<int32_t>(traces.Int(2, row)),
                                           traces.Int(3, row), traces.Text(4, row),
                                           traces.Int(5, row) != 0};
    present.next_trace = std::max(present.next_trace, number + 1);
    const Present::Trace& trace = present.traces[traces.Text(0, row)];
    if (trace.is_whole) present.ranks[{trace.run, trace.rank}] = traces.Text(0, row);
  }
  return present;
}

// The rank's trace that is in the run already with other content, or null.
const Present::Trace* OtherOfRank(const Present& present, const LakeTrace& trace, int32_t run) {
  const auto found = present.ranks.find({run, trace.rank});
  if (trace.rank < 0 || found == present.ranks.end()) return nullptr;
  return &present.traces.at(found->second);
}

Status Conflict(const LakeTrace& trace, const Present::Trace& other) {
  return base::AlreadyExistsError(Concat("rank ", std::to_string(trace.rank), " of run '",
                                         trace.run, "' is in the lake with other content ('",
                                         other.path, "'): name another run for '", trace.path,
                                         "' with --run"));
}

// Numbers for the traces, and the statements that keep them.
Result<std::string> NumberTraces(Present present, std::span<LakeTrace> traces) {
  std::string sql;
  for (LakeTrace& trace : traces) {
    const auto known = present.traces.find(trace.key);
    if (known != present.traces.end()) {
      trace.number = known->second.number;
      trace.run_number = known->second.run;
      trace.is_there = known->second.is_whole;
      continue;
    }
    const auto [run, is_new] =
        present.runs.try_emplace(trace.run, static_cast<int32_t>(present.runs.size()));
    if (is_new) {
      sql += Concat("INSERT INTO sonde_run VALUES (", std::to_string(run->second), ", ",
                    SqlText(trace.run), ");");
    } else if (const Present::Trace* other = OtherOfRank(present, trace, run->second)) {
      return Conflict(trace, *other);
    }
    trace.run_number = run->second;
    trace.number = present.next_trace++;
    present.traces[trace.key] = {trace.number, trace.run_number, trace.rank, trace.path, false};
    sql += Concat("INSERT INTO sonde_trace VALUES (", std::to_string(trace.number), ", ",
                  SqlText(trace.key), ", ", std::to_string(trace.run_number), ", ",
                  RankValue(trace.rank), ", ", SqlText(trace.path), ", false, 0, 0, 0);");
  }
  return sql;
}

// The columns with their ids, by which readers of the catalogue find them: {"trace": 1, ...}.
std::string FieldIds(const LakeTable& table) {
  std::string ids;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    ids += Concat(i > 0 ? ", " : "", table.columns[i], ": ", std::to_string(i + 1));
  }
  return Concat("{", ids, "}");
}

// The rows of a trace, in the order of time, as a file that is complete or not there.
Status WriteRows(Connection& connection, const LakeTable& table, const std::string& where,
                 const std::string& path) {
  const std::string temporary = base::TemporaryNextTo(path);
  const bool has_time = std::ranges::find(table.columns, SqlName("ts")) != table.columns.end();
  const Status written = connection.Execute(Concat(
      "COPY (SELECT ", base::Join(table.columns, ", "), " FROM ", SqlName(table.name), " WHERE ",
      where, has_time ? " ORDER BY ts" : "", ") TO ", SqlText(temporary),
      " (FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false, FIELD_IDS ", FieldIds(table), ")"));
  if (written.ok() && std::rename(temporary.c_str(), path.c_str()) == 0) return {};
  Status failed = written.ok() ? base::ErrnoStatus(errno, "write", path) : written;
  base::RemoveTree(temporary).IgnoreError();  // the failure above matters
  failed.Annotate(Concat("cannot write '", path, "'"));
  return failed;
}

// Makes the results that the lake has, each once; one of an older lake may have none.
Status KeepResults(Database& database, Connection& connection, const std::vector<LakeTable>& tables,
                   std::shared_ptr<const MadeTables> made) {
  std::string sql;
  for (const ResultInfo& result : made->tables()) {
    const bool is_there = std::ranges::any_of(
        tables, [&](const LakeTable& table) { return table.name == result.name; });
    if (!is_there) continue;
    const std::string name = SqlName(result.name);
    sql += Concat("CREATE TABLE ", name,
                  " AS SELECT * REPLACE (trace::INTEGER AS trace, run::INTEGER AS run, "
                  "rank::INTEGER AS rank) FROM ",
                  name, ";");
  }
  SONDE_RETURN_IF_ERROR(internal::OfferTables(database, std::move(made)));
  return sql.empty() ? Status() : connection.Execute(sql);
}

// SQL over the new files: the numbers of their rows and bytes, and where their rows begin.
constexpr const char* kNumberFiles =
    R"(CREATE TEMP TABLE added AS SELECT w.*, (SELECT max(next_file_id) FROM ducklake_snapshot) + row_number() OVER (ORDER BY w.place) - 1 AS file, t.table_id, m.num_rows, m.file_size_bytes::BIGINT AS bytes, m.footer_size::BIGINT AS footer, s.next_row_id + coalesce(sum(m.num_rows) OVER (PARTITION BY w.table_name ORDER BY w.place ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0)::BIGINT AS first_row FROM written w JOIN ducklake_table t USING (table_name) JOIN ducklake_table_stats s USING (table_id) JOIN parquet_file_metadata(getvariable('lake_added')) m ON m.file_name = w.full_path;
)";
constexpr const char* kNameFiles =
    R"(INSERT INTO ducklake_data_file SELECT file, table_id, (SELECT max(snapshot_id) + 1 FROM ducklake_snapshot), NULL, NULL, path, true, 'parquet', num_rows, bytes, footer, first_row, (SELECT partition_id FROM ducklake_partition_info p WHERE p.table_id = added.table_id), NULL, NULL, NULL FROM added;
INSERT INTO ducklake_file_partition_value SELECT file, table_id, 0, run::VARCHAR FROM added UNION ALL SELECT file, table_id, 1, rank::VARCHAR FROM added;
INSERT INTO ducklake_file_column_stats SELECT a.file, a.table_id, c.column_id, sum(m.total_compressed_size)::BIGINT, sum(m.num_values)::BIGINT, sum(m.stats_null_count)::BIGINT, min(m.stats_min_value::BIGINT)::VARCHAR, max(m.stats_max_value::BIGINT)::VARCHAR, NULL, NULL FROM added a JOIN parquet_metadata(getvariable('lake_added')) m ON m.file_name = a.full_path JOIN ducklake_column c ON c.table_id = a.table_id AND c.column_name = m.path_in_schema WHERE c.column_name IN ('trace', 'run', 'rank', 'ts', 'step_id') GROUP BY ALL;
UPDATE ducklake_table_stats s SET record_count = record_count + n.num_rows, next_row_id = next_row_id + n.num_rows, file_size_bytes = file_size_bytes + n.bytes FROM (SELECT table_id, sum(num_rows)::BIGINT AS num_rows, sum(bytes)::BIGINT AS bytes FROM added GROUP BY table_id) n WHERE n.table_id = s.table_id;
UPDATE sonde_trace t SET "rows" = n.num_rows, bytes = n.bytes FROM (SELECT trace, sum(num_rows)::BIGINT AS num_rows, sum(bytes)::BIGINT AS bytes FROM added GROUP BY trace) n WHERE n.trace = t.trace;
INSERT INTO ducklake_snapshot_changes SELECT (SELECT max(snapshot_id) + 1 FROM ducklake_snapshot), string_agg(DISTINCT 'inserted_into_table:' || table_id, ','), NULL, NULL, NULL FROM added;
INSERT INTO ducklake_snapshot SELECT snapshot_id + 1, now(), schema_version, next_catalog_id, next_file_id + (SELECT count(*) FROM added) FROM ducklake_snapshot ORDER BY snapshot_id DESC LIMIT 1;
)";

}  // namespace

Result<std::unique_ptr<LakeWriter>> LakeWriter::Open(const std::string& folder,
                                                     const std::string& place,
                                                     std::span<const ResultInfo> results) {
  std::unique_ptr<LakeWriter> writer(new LakeWriter(base::AbsolutePath(folder)));
  SONDE_RETURN_IF_ERROR(internal::CheckLakeFolder(writer->folder_));
  SONDE_RETURN_IF_ERROR(base::MakeDirectories(writer->folder_));
  const auto set_place = [&](Database&, Connection& connection) -> Result<bool> {
    if (place.empty()) return false;
    SONDE_RETURN_IF_ERROR(
        connection.Execute(Concat("UPDATE ducklake_metadata SET value = ", SqlText(place + "/"),
                                  " WHERE key = 'data_path'")));
    return true;
  };
  SONDE_RETURN_IF_ERROR(internal::EditLake(writer->folder_, set_place, results));
  return writer;
}

Status LakeWriter::Register(std::span<LakeTrace> traces) {
  return internal::EditLake(
      folder_, [&](Database& database, Connection& connection) -> Result<bool> {
        SONDE_ASSIGN_OR_RETURN(Present present, ReadPresent(database));
        SONDE_ASSIGN_OR_RETURN(const std::string sql, NumberTraces(std::move(present), traces));
        if (sql.empty()) return false;
        SONDE_RETURN_IF_ERROR(connection.Execute(Concat("BEGIN;", sql, "COMMIT")));
        return true;
      });
}

// A file for each trace and rank that has rows of the table.
Status LakeWriter::WriteTable(
    const Database& database, Connection& connection, const LakeTable& table,
    std::vector<Written>& written,
    const std::function<std::pair<int32_t, std::string>(int64_t)>& run_and_key) const {
  SONDE_ASSIGN_OR_RETURN(
      const ResultTable groups,
      internal::Query(database, Concat("SELECT trace::BIGINT, coalesce(rank, -1)::BIGINT FROM ",
                                       SqlName(table.name), " GROUP BY ALL ORDER BY ALL")));
  const std::string home = Concat(folder_, "/", table.name, "/");
  for (size_t row = 0; row < groups.rows(); ++row) {
    const auto [run, key] = run_and_key(groups.Int(0, row));
    const int64_t rank = groups.Int(1, row);
    const std::string partition = PartitionOf(run, rank);
    const std::string path = Concat(partition, "/", key, ".parquet");
    const std::string trace = std::to_string(groups.Int(0, row));
    SONDE_RETURN_IF_ERROR(base::MakeDirectories(home + partition));
    base::RemoveLeftovers(home + partition);
    SONDE_RETURN_IF_ERROR(
        WriteRows(connection, table,
                  Concat("trace = ", trace, " AND rank IS NOT DISTINCT FROM ", RankValue(rank)),
                  home + path));
    written.push_back({table.name, static_cast<int32_t>(groups.Int(0, row)), run,
                       static_cast<int32_t>(rank), path});
  }
  return {};
}

Status LakeWriter::Write(const StoreFile& file, std::span<const std::string> keys,
                         std::shared_ptr<const MadeTables> made) {
  Database database;
  SONDE_RETURN_IF_ERROR(
      internal::OpenInto(":memory:", internal::Use::kUnlocked, {.threads = 1}, database));
  SONDE_ASSIGN_OR_RETURN(const auto connection, internal::Connect(database));
  SONDE_RETURN_IF_ERROR(internal::AttachLake(*connection, folder_));
  SONDE_ASSIGN_OR_RETURN(const auto tables, internal::ReadLakeTables(database));
  SONDE_RETURN_IF_ERROR(internal::JoinStores(database, *connection, {file}, /*is_single=*/false));
  if (made != nullptr) {
    SONDE_RETURN_IF_ERROR(KeepResults(database, *connection, tables, std::move(made)));
  }
  std::map<int64_t, size_t> places;  // by number
  for (size_t i = 0; i < file.traces.size(); ++i) places[file.traces[i].trace] = i;
  std::vector<Written> written;
  for (const LakeTable& table : tables) {
    SONDE_RETURN_IF_ERROR(WriteTable(database, *connection, table, written, [&](int64_t trace) {
      const size_t place = places.at(trace);
      return std::pair(file.traces[place].run, keys[place]);
    }));
  }
  SONDE_ASSIGN_OR_RETURN(
      const ResultTable faults,
      internal::Query(database,
                      "SELECT trace::BIGINT, count(*) FROM import_issue WHERE severity "
                      "<> 'info' GROUP BY trace"));
  const std::scoped_lock lock(mutex_);
  files_.insert(files_.end(), written.begin(), written.end());
  for (const TraceLabel& label : file.traces) faults_[label.trace] = 0;
  for (size_t row = 0; row < faults.rows(); ++row) {
    faults_[static_cast<int32_t>(faults.Int(0, row))] = faults.Int(1, row);
  }
  return {};
}

Result<std::vector<std::string>> LakeWriter::Commit() {
  std::vector<std::string> paths;
  if (faults_.empty()) return paths;
  std::string traces;
  for (const auto& [trace, faults] : faults_) {
    traces += Concat(traces.empty() ? "(" : ", (", std::to_string(trace), ", ",
                     std::to_string(faults), ")");
  }
  std::string files;
  for (size_t i = 0; i < files_.size(); ++i) {
    const Written& file = files_[i];
    files += Concat(i > 0 ? ", (" : "(", std::to_string(i), ", ", SqlText(file.table), ", ",
                    std::to_string(file.trace), ", ", std::to_string(file.run), ", ",
                    RankValue(file.rank), "::INTEGER, ", SqlText(file.path), ", ",
                    SqlText(Concat(folder_, "/", file.table, "/", file.path)), ")");
  }
  const std::string sql = Concat(
      "CREATE TEMP TABLE done AS SELECT n.trace, n.faults FROM (VALUES ", traces,
      ") n(trace, faults) JOIN sonde_trace t USING (trace) WHERE NOT t.is_whole;",
      "CREATE TEMP TABLE written AS SELECT * FROM (VALUES ", files,
      ") w(place, table_name, trace, run, rank, path, full_path) WHERE trace IN (SELECT trace FROM "
      "done);");
  const Status committed =
      internal::EditLake(folder_, [&](Database&, Connection& connection) -> Result<bool> {
        SONDE_RETURN_IF_ERROR(connection.Execute(sql));
        // Another writer may have been first with all of them.
        SONDE_ASSIGN_OR_RETURN(const int64_t count,
                               connection.Number("SELECT count(*) FROM written"));
        if (count == 0) return false;
        SONDE_RETURN_IF_ERROR(
            connection.Execute("SET VARIABLE lake_added = (SELECT list(full_path) FROM written)"));
        SONDE_RETURN_IF_ERROR(connection.Execute(Concat("BEGIN;", kNumberFiles)));
        SONDE_RETURN_IF_ERROR(connection.Execute(kNameFiles));
        SONDE_RETURN_IF_ERROR(connection.Execute(
            "UPDATE sonde_trace t SET is_whole = true, faults = d.faults FROM done d WHERE "
            "d.trace = t.trace; COMMIT; DROP TABLE added; DROP TABLE written; DROP TABLE done"));
        return true;
      });
  SONDE_RETURN_IF_ERROR(committed);
  for (const Written& file : files_) paths.push_back(Concat(file.table, "/", file.path));
  files_.clear();
  faults_.clear();
  return paths;
}

}  // namespace sonde::store
