#include "importers/ascend_db/ascend_db.h"

#include "base/files.h"
#include "base/strings.h"
#include "importers/ascend/device_model.h"
#include "importers/ascend/groups.h"
#include "importers/ascend/keep_files.h"
#include "importers/ascend/span.h"
#include "importers/ascend_db/copy_tables.h"
#include "importers/ascend_db/db_trace.h"
#include "importers/ascend_db/issues.h"
#include "importers/ascend_raw/beside_export.h"
#include "importers/common/part_file.h"
#include "importers/rows/trace_rows.h"
#include "store/core_frequency.h"

namespace sonde::importers {
namespace {

using base::Concat;
using base::SqliteReader;
using namespace db_import;  // NOLINT(google-build-using-namespace): the parts of this folder

void CheckTables(DbTrace& trace) {
  for (const std::string_view table : {"TASK", "CANN_API"}) {
    if (!trace.reader.HasTable(table)) {
      trace.rows.issues.Add(kDbMissingTable, Concat(trace.file, ": ", table));
    }
  }
}

// All tables with ranges of time: they are read where slices are wanted.
constexpr uint64_t kSlices =
    store::TablesOf<store::SliceRow, store::FrameworkOpRow, store::OpSignatureRow,
                    store::CallstackRow, store::FlowRow, store::ArgsIntRow, store::ArgsDoubleRow,
                    store::ArgsTextRow>();
// Tasks have their step by the calls that launched them.
constexpr uint64_t kDevice =
    kSlices | store::TablesOf<store::DeviceTaskRow, store::DeviceTaskPmuRow,
                              store::CommunicationTransitRow, store::ApiCallRow>();
constexpr uint64_t kCommunication = kDevice | store::TablesOf<store::CommunicationOpRow>();
constexpr uint64_t kMarks = kSlices | store::TablesOf<store::MarkRow>();
constexpr uint64_t kMemory = store::TablesOf<store::MemoryEventRow, store::MemoryBlockRow>();
constexpr uint64_t kCounters = store::kAnyOf<store::CounterRow>;

void ReadTrace(const SqliteReader& reader, const std::string& file, uint64_t tables,
               TraceRows& rows) {
  const auto wants = [tables](uint64_t of) { return (tables & of) != 0; };
  DbTrace trace{.reader = reader, .rows = rows, .file = file, .tables = tables};
  if (reader.read_log()) rows.issues.Add(kDbLog, file);
  CheckTables(trace);
  ReadSession(trace);
  ReadSteps(trace);
  if (wants(kSlices | kMemory)) ReadFramework(trace);
  WriteSteps(trace);
  if (wants(kDevice)) {
    ReadHostCalls(trace);
    ReadTasks(trace);
    ReadDeviceLayers(trace);
  }
  if (wants(kCommunication)) {
    ReadCommunication(trace);
    ascend::LeaveLaunches(rows);
  }
  if (wants(kMarks)) ReadMarks(trace);
  if (wants(kMemory)) ReadMemory(trace);
  if (wants(kCounters)) ReadCounters(trace);
  ComputeWaits(rows);
}

// The first database that can be opened: a second one is the device tool's, from which the first
// was made. False where none can be opened; fails where there is nothing else to read either.
// `is_half`: more of the trace is read elsewhere, so that the tables are not kept cell by cell.
Result<bool> TakeMain(const AscendSpan& span, bool is_half, uint64_t tables, TraceRows& rows,
                      store::SourceNames& names, store::Transaction& transaction) {
  Status first;
  for (const SpanFile& file : span.databases) {
    const auto reader = SqliteReader::Open(file.path);
    if (!reader.ok()) {
      CountUnreadable(file.relative, reader.status(), rows.issues);
      if (first.ok()) first = reader.status();
      continue;
    }
    rows.source = file.relative;
    ReadTrace(*reader, file.relative, tables, rows);
    if (!is_half) {
      SONDE_RETURN_IF_ERROR(CopyTables(*reader, file.relative, names, rows.issues, transaction));
    }
    return true;
  }
  if (span.analysis.empty() && !is_half && !first.ok()) return first;
  return false;
}

}  // namespace

bool IsAscendDb(const std::string& path) {
  const AscendSpan span = FindSpan(path);
  return !span.databases.empty() || (!span.analysis.empty() && !span.has_texts());
}

Result<int32_t> AscendDbRank(const std::string& path) { return SpanRank(FindSpan(path)); }

Result<int64_t> AscendDbStamp(const std::string& path) {
  AscendSpan span = FindSpan(path);
  // Read with it, so that the trace changes with them, too.
  for (SpanFile& file : FrameworkRecordsNextTo(span)) span.metadata.push_back(std::move(file));
  return SpanStamp(span);
}

Status ReadAscendDb(const std::string& path, TraceRows& rows) {
  SONDE_ASSIGN_OR_RETURN(const SqliteReader reader, SqliteReader::Open(path));
  ReadTrace(reader, std::string(base::BaseName(path)), store::kAllTables, rows);
  return {};
}

Result<ImportSummary> ImportAscendDb(const std::string& path, store::Store& store,
                                     const ImportOptions& options) {
  AscendSpan span = FindSpan(path);
  if (span.databases.empty() && span.analysis.empty()) {
    return base::NotFoundError(Concat("'", path, "' holds no database of an Ascend profiler"));
  }
  TraceRows rows(std::string(base::DirName(store.path())));
  rows.source = (span.databases.empty() ? span.analysis : span.databases).front().relative;
  rows.rank = SpanRank(span);
  SONDE_ASSIGN_OR_RETURN(auto transaction, store.Begin());
  store::SourceNames names;
  ReadSpanMetadata(span.folder, rows);
  const std::vector<SpanFile> framework = FrameworkRecordsNextTo(span);
  SONDE_ASSIGN_OR_RETURN(const bool is_read, TakeMain(span, !framework.empty(), options.tables,
                                                      rows, names, transaction));
  if (!framework.empty()) {
    std::erase(span.unread, "FRAMEWORK/");
    AddFrameworkRecords(span, framework, rows);
    ComputeWaits(rows);
  }
  for (const SpanFile& file : span.analysis) {
    const auto analysis = SqliteReader::Open(file.path);
    if (!analysis.ok()) {
      CountUnreadable(file.relative, analysis.status(), rows.issues);
      continue;
    }
    ReadAnalysis(*analysis, file.relative, rows);
    if (is_read && !framework.empty()) continue;
    SONDE_RETURN_IF_ERROR(CopyTables(*analysis, file.relative, names, rows.issues, transaction));
  }
  if (!span.timelines.empty() || !span.tables.empty()) {
    rows.issues.Add(kTextWithDb, rows.source);
  }
  CountUnread(span, rows.issues);
  if ((options.tables & store::kTableBit<store::SourceTextRow>) != 0) {
    SONDE_RETURN_IF_ERROR(KeepTexts(span.metadata, rows.issues, transaction));
  }
  for (store::ProcessRow& process : rows.processes) process.rank = rows.rank;
  for (GroupFact& group : rows.groups) group.process_id = rows.processes.empty() ? -1 : 0;
  if (rows.rank >= 0) rows.AddJson("rank", std::to_string(rows.rank));
  SONDE_ASSIGN_OR_RETURN(ImportSummary summary, rows.Write(transaction));
  SONDE_RETURN_IF_ERROR(transaction.Commit());
  return summary;
}

}  // namespace sonde::importers
