#include "importers/ascend_text/ascend_text.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/files.h"
#include "base/strings.h"
#include "importers/ascend/delivered.h"
#include "importers/ascend/groups.h"
#include "importers/ascend/keep_files.h"
#include "importers/ascend/machine.h"
#include "importers/ascend/span.h"
#include "importers/ascend_db/copy_tables.h"
#include "importers/ascend_db/db_trace.h"
#include "importers/ascend_raw/beside_export.h"
#include "importers/ascend_text/copy_csv.h"
#include "importers/ascend_text/csv_reader.h"
#include "importers/ascend_text/forwarded_tables.h"
#include "importers/ascend_text/issues.h"
#include "importers/ascend_text/text_trace.h"
#include "importers/ascend_text/whole_rows.h"
#include "importers/common/part_file.h"
#include "importers/mindspore/files.h"
#include "importers/mindspore/trace.h"
#include "importers/trace_events/finish.h"

namespace sonde::importers {
namespace {

using base::Concat;
using text_import::AscendDialect;
using text_import::TextTrace;
using trace_events::EventStage;

// Everything but the timeline: CSV, JSON and analysis.db, into rows and into copies.
class SideFiles {
 public:
  // `is_half`: more of the trace is read elsewhere, so that the files are not kept.
  SideFiles(const AscendSpan& span, TextTrace& trace, store::Transaction& transaction,
            bool is_half = false)
      : span_(span), trace_(trace), transaction_(transaction), is_half_(is_half) {}

  Status Run() {
    ReadSpanMetadata(span_.folder, trace_.rows);
    CountUnread(span_, trace_.rows.issues);
    for (const SpanFile& file : span_.tables) SONDE_RETURN_IF_ERROR(TakeCsv(file));
    for (const SpanFile& file : span_.texts) TakeCommunication(file);
    for (const SpanFile& file : span_.memory) TakeMemory(file);
    for (const SpanFile& file : span_.analysis) SONDE_RETURN_IF_ERROR(TakeAnalysis(file));
    std::vector<SpanFile> kept = span_.metadata;
    if (!is_half_) kept.insert(kept.end(), span_.texts.begin(), span_.texts.end());
    // Without tables there is no exact export: a timeline is recreated then.
    if (!span_.tables.empty() && !is_half_) {
      kept.insert(kept.end(), span_.timelines.begin(), span_.timelines.end());
    }
    SONDE_RETURN_IF_ERROR(KeepTexts(kept, trace_.rows.issues, transaction_));
    Finish();
    return {};
  }

 private:
  Status TakeCsv(const SpanFile& file) {
    const auto content = OpenPart(file.path, file.relative, trace_.rows.issues);
    if (!content) return {};
    std::string source = std::exchange(trace_.rows.source, file.relative);  // for issues
    text_import::RowsOfCsv(file, content->text(), trace_);
    if (is_half_) text_import::ReadProcessMemory(file, content->text(), trace_);
    if (base::BaseName(file.path) == "step_trace_time.csv") {
      trace_.rows.AddJson(kDeliveredSteps,
                          DeliveredStepsJson(file.relative, StepsOfCsv(content->text())));
    } else if (base::BaseName(file.path) == "api_statistic.csv") {
      trace_.rows.AddJson(kDeliveredApi, DeliveredApiJson(content->text()));
    }
    if (IsOfSums(file)) {
      ReadCsv(content->text(), [&](const CsvRow&, int64_t) { ++sums_[file.relative]; });
    }
    trace_.rows.source = std::move(source);
    if (is_half_) {
      CheckCsv(file, content->text(), trace_.rows.issues);
      return {};
    }
    return CopyCsv(file, content->text(), names_, trace_.rows.issues, transaction_);
  }

  void TakeCommunication(const SpanFile& file) {
    const auto content = OpenPart(file.path, file.relative, trace_.rows.issues);
    if (!content) return;
    if (base::BaseName(file.path) == "communication.json") {
      text_import::RowsOfCommunication(file, content->text(), trace_);
    } else {
      text_import::CheckCommunicationMatrix(file, content->text(), trace_.rows.issues);
    }
  }

  void TakeMemory(const SpanFile& file) {
    const auto content = OpenPart(file.path, file.relative, trace_.rows.issues);
    if (!content) return;
    mindspore::ReadMemoryRecord(file, content->text(), trace_.process_id, trace_.rows);
  }

  Status TakeAnalysis(const SpanFile& file) {
    const auto reader = base::SqliteReader::Open(file.path);
    if (!reader.ok()) {
      CountUnreadable(file.relative, reader.status(), trace_.rows.issues);
      return {};
    }
    if (is_half_) return {};
    return CopyTables(*reader, file.relative, names_, trace_.rows.issues, transaction_);
  }

  void Finish() {
    TraceRows& rows = trace_.rows;
    // A timeline does not share its tracks; it is of one device.
    ComputeWaits(rows, trace_.has_timeline);
    NameLonelySums();
    ascend::NameHostOfMetadata(rows);
    for (GroupFact& group : rows.groups) group.process_id = trace_.process_id;
    if (rows.rank >= 0) rows.AddJson("rank", std::to_string(rows.rank));
  }

  // Whether the table holds only sums of tasks or operators.
  static bool IsOfSums(const SpanFile& file) {
    const std::string_view name = base::BaseName(file.path);
    return name == "op_statistic.csv" || name == "operator_details.csv" ||
           name == "step_trace_time.csv";
  }

  // Tables of sums without rows in other tables, since their tasks or operators are missing.
  void NameLonelySums() {
    if (trace_.has_timeline) return;
    const TraceRows& rows = trace_.rows;
    for (const auto& [file, count] : sums_) {
      const std::string_view name = base::BaseName(file);
      const bool has_rows =
          (name == "op_statistic.csv" && !rows.tasks.empty()) ||
          (name == "step_trace_time.csv" && !(rows.tasks.empty() && rows.communications.empty()));
      if (!has_rows) trace_.rows.issues.Add(kSumsAlone, file, -1, count);
    }
  }

  const AscendSpan& span_;
  TextTrace& trace_;
  store::Transaction& transaction_;
  bool is_half_;
  store::SourceNames names_;
  std::map<std::string, int64_t> sums_;  // rows by file
};

Result<ImportSummary> ImportStaged(const AscendSpan& span, EventStage& stage, store::Store& store,
                                   const ImportOptions& options) {
  stage.SetOrigin(SpanRank(span), ascend::HostNameOf(span.folder));
  SONDE_RETURN_IF_ERROR(stage.Arrange(0));
  TraceRows rows(stage.names(), stage.issues(), stage.pool(), stage.arrangement().track_count);
  rows.rank = SpanRank(span);
  rows.source = span.timelines.front().relative;
  TextTrace trace{.rows = rows, .has_timeline = true};
  const auto prepare = [&]() -> Status {
    text_import::RowsOfTimeline(stage, trace);
    SONDE_ASSIGN_OR_RETURN(auto transaction, store.Begin());
    SONDE_RETURN_IF_ERROR(SideFiles(span, trace, transaction).Run());
    rows.Order();
    return transaction.Commit();
  };
  const auto more = [&](store::Transaction& transaction, ImportSummary&) {
    return rows.WriteShared(transaction);
  };
  const auto parallel = [&](store::Transaction& transaction) { return rows.WriteOwn(transaction); };
  SONDE_ASSIGN_OR_RETURN(
      ImportSummary summary,
      trace_events::Finish(stage, store, options,
                           {.prepare = prepare, .more = more, .parallel = parallel}));
  summary.device_tasks = static_cast<int64_t>(rows.tasks.size());
  summary.communication_ops = static_cast<int64_t>(rows.communications.size());
  summary.memory_events = static_cast<int64_t>(rows.memory_events.size());
  return summary;
}

// The exports of the device tool and the framework's records in the same folder, as one trace.
Result<ImportSummary> ImportWithRecords(AscendSpan span, const std::vector<SpanFile>& framework,
                                        EventStage& stage, store::Store& store) {
  stage.SetOrigin(SpanRank(span), ascend::HostNameOf(span.folder));
  SONDE_RETURN_IF_ERROR(stage.Arrange(0));
  TraceRows rows(stage.names(), stage.issues(), stage.pool(), 0);
  rows.rank = SpanRank(span);
  rows.source = span.timelines.front().relative;
  text_import::TakeStage(stage, rows);
  TextTrace trace{.rows = rows, .has_timeline = true};
  text_import::RowsOfTimeline(stage, trace);
  rows.first_mark = 0;  // all are ours
  std::erase(span.unread, "FRAMEWORK/");
  SONDE_RETURN_IF_ERROR(stage.Commit());
  SONDE_ASSIGN_OR_RETURN(auto transaction, store.Begin());
  SONDE_RETURN_IF_ERROR(stage.WriteCounters(transaction));
  SONDE_RETURN_IF_ERROR(SideFiles(span, trace, transaction, /*is_half=*/true).Run());
  SONDE_RETURN_IF_ERROR(text_import::KeepForwardedTables(span.tables, rows.issues, transaction));
  const std::vector<LaunchPoint> launches = text_import::LaunchPoints(stage);
  const int32_t process = AddFrameworkRecords(span, framework, rows, &launches);
  // Texts of the device tool name no process: their memory is the framework's, too.
  for (store::MemoryEventRow& event : rows.memory_events) {
    if (event.process_id == store::kNone) event.process_id = process;
  }
  for (store::MemoryBlockRow& block : rows.memory_blocks) {
    if (block.process_id == store::kNone) block.process_id = process;
  }
  for (GroupFact& group : rows.groups) group.process_id = process;
  ComputeWaits(rows);
  SONDE_ASSIGN_OR_RETURN(ImportSummary summary, rows.Write(transaction));
  SONDE_RETURN_IF_ERROR(transaction.Commit());
  return summary;
}

// `known`: issues of files that were read before.
Result<ImportSummary> ImportTables(const AscendSpan& span, store::Store& store,
                                   const store::ImportIssues& known) {
  TraceRows rows(std::string(base::DirName(store.path())));
  known.MergeInto(rows.issues);
  rows.rank = SpanRank(span);
  rows.source = span.tables.empty() ? span.folder : span.tables.front().relative;
  TextTrace trace{.rows = rows};
  trace.process_id = rows.Process(0);
  SONDE_ASSIGN_OR_RETURN(auto transaction, store.Begin());
  SONDE_RETURN_IF_ERROR(SideFiles(span, trace, transaction).Run());
  SONDE_ASSIGN_OR_RETURN(ImportSummary summary, rows.Write(transaction));
  SONDE_RETURN_IF_ERROR(transaction.Commit());
  return summary;
}

// The timelines; invalid ones are counted. False where none is left, fails where nothing else is
// there to read either.
Result<bool> ReadTimelines(const AscendSpan& span, EventStage& stage) {
  const bool is_all = span.tables.empty() && span.texts.empty() && span.analysis.empty();
  size_t read = 0;
  Status first;
  for (const SpanFile& file : span.timelines) {
    const Status status = stage.Read(file.path);
    read += status.ok() ? 1 : 0;
    if (!status.ok()) CountUnreadable(file.relative, status, stage.issues());
    if (first.ok()) first = status;
  }
  if (read == 0 && is_all) return first;
  return read > 0;
}

Result<ImportSummary> ImportWithTimeline(const AscendSpan& span, store::Store& store,
                                         const ImportOptions& options) {
  const AscendDialect dialect;
  store::ImportIssues unread;
  {
    EventStage stage(store, dialect, options);
    SONDE_ASSIGN_OR_RETURN(const bool any, ReadTimelines(span, stage));
    const std::vector<SpanFile> framework = FrameworkRecordsNextTo(span);
    if (any && !framework.empty()) return ImportWithRecords(span, framework, stage, store);
    if (any) return ImportStaged(span, stage, store, options);
    unread = stage.issues();
  }
  return ImportTables(span, store, unread);
}

bool HasNoContent(const std::vector<SpanFile>& files) {
  return std::all_of(files.begin(), files.end(), [](const SpanFile& file) {
    const auto content = base::MappedFile::Open(file.path);
    return !content.ok() || content->size() == 0;
  });
}

}  // namespace

bool IsAscendText(const std::string& path) {
  const AscendSpan span = FindSpan(path);
  if (!span.databases.empty()) return false;
  if (base::IsRegularFile(path)) {
    // A timeline alone is known by its name only.
    return !span.timelines.empty() || (!span.tables.empty() && IsKnownCsv(base::BaseName(path)));
  }
  // MindSpore's timeline can be replaced by the records from which it was made.
  const bool is_lost = span.texts.empty() && span.tables.empty() && HasNoContent(span.timelines);
  return span.has_texts() && !(is_lost && mindspore::FindFiles(path).HasTrace());
}

Result<int32_t> AscendTextRank(const std::string& path) { return SpanRank(FindSpan(path)); }

Result<int64_t> AscendTextStamp(const std::string& path) {
  AscendSpan span = FindSpan(path);
  // Read with it, so that the trace changes with them, too.
  for (SpanFile& file : FrameworkRecordsNextTo(span)) span.metadata.push_back(std::move(file));
  return SpanStamp(span);
}

Result<ImportSummary> ImportAscendText(const std::string& path, store::Store& store,
                                       const ImportOptions& options) {
  const AscendSpan span = FindSpan(path);
  return span.timelines.empty() ? ImportTables(span, store, {})
                                : ImportWithTimeline(span, store, options);
}

}  // namespace sonde::importers
