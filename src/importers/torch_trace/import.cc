#include "importers/torch_trace/import.h"

#include "base/files.h"
#include "base/host/json.h"
#include "base/strings.h"
#include "importers/common/file_stamp.h"
#include "importers/torch_trace/compilations.h"
#include "importers/torch_trace/issues.h"
#include "importers/torch_trace/records.h"

namespace sonde::importers {
namespace {

using base::JsonDocument;
using base::JsonValue;
using torch_trace::Compilations;
using torch_trace::LogRecord;

constexpr std::string_view kLogPrefix = "dedicated_log_torch_trace_";
constexpr std::string_view kRankPrefix = "rank_";

// Hands the records of interest to `compilations`. Kinds: "chromium_event" (begin, end and instants
// of phases), "artifact" by name, "*compilation_metrics"; the others hold graphs and sources.
class LogReader {
 public:
  explicit LogReader(TraceRows& rows) : rows_(rows), compilations_(rows) {}

  void Take(const LogRecord& record) {
    const bool is_measured = record.kind.ends_with("compilation_metrics");
    if (!is_measured && record.kind != "chromium_event" && record.kind != "artifact") return;
    const auto header = JsonDocument::Parse(record.object, rows_.source);
    if (!header.ok() || !header->root().IsObject()) return CountBad(record);
    rows_.Process(record.pid);
    const std::string id = IdOf(header->root());
    if (is_measured) {
      const JsonValue metrics = header->root()[record.kind];
      if (!metrics.IsObject()) return CountBad(record);
      compilations_.Measured(id, metrics);
    } else if (record.kind == "artifact") {
      TakeArtifact(record, id, header->root()["artifact"]["name"]);
    } else {
      TakeEvent(record, id);
    }
  }

  void Finish() { compilations_.Finish(); }

 private:
  void CountBad(const LogRecord& record) {
    rows_.issues.Add(torch_trace::kBadRecord, rows_.source, record.position);
  }

  // torch writes the parts of its number apart, the frame's and that of its compilations.
  static std::string IdOf(const JsonValue& header) {
    const JsonValue frame = header["frame_id"];
    const JsonValue number = header["frame_compile_id"];
    if (!frame.IsNumber() || !number.IsNumber()) return {};
    const JsonValue autograd = header["compiled_autograd_id"];
    const std::string prefix = autograd.IsNumber() ? base::Concat("!", autograd.Dump(), "/") : "";
    return base::Concat(prefix, frame.Dump(), "/", number.Dump());
  }

  void TakeArtifact(const LogRecord& record, std::string_view id, const JsonValue& name_value) {
    if (!name_value.IsString()) return CountBad(record);
    const std::string name = name_value.AsString().value_or("");
    if (name == "dynamo_graph_break_reason") {
      compilations_.AddBreak(id, torch_trace::PayloadText(record.payload));
    } else if (name == "recompile_reasons") {
      TakeReasons(record, id);
    }
  }

  // A list of several, or the text of a single one.
  void TakeReasons(const LogRecord& record, std::string_view id) {
    const std::string text = torch_trace::PayloadText(record.payload);
    if (!text.starts_with('[')) return compilations_.AddReason(id, text);
    const auto reasons = JsonDocument::Parse(text, rows_.source);
    if (!reasons.ok()) return CountBad(record);
    const JsonValue first = reasons->root()[size_t{0}];
    if (!first.IsString()) return CountBad(record);
    compilations_.AddReason(id, first.AsString().value_or(""));
  }

  void TakeEvent(const LogRecord& record, std::string_view id) {
    const auto payload = JsonDocument::Parse(record.payload, rows_.source);
    if (!payload.ok() || !payload->root().IsObject()) return CountBad(record);
    const JsonValue root = payload->root();
    const JsonValue time = root["ts"];
    const std::string decimal = time.IsNumber() ? time.Dump() : std::string();
    const int64_t ts = base::ParseMicrosecondsToNs(decimal).value_or(-1);
    const JsonValue name = root["name"];
    const JsonValue phase = root["ph"];
    if (!IsTime(ts, 0) || !name.IsString() || !phase.IsString()) return CountBad(record);
    const Compilations::Event event{id, record.pid, name.AsString().value_or(""), ts, root["args"]};
    const std::string letter = phase.AsString().value_or("");
    if (letter == "B") {
      compilations_.Begin(event);
    } else if (letter == "E") {
      compilations_.End(event);
    } else if (letter == "i") {
      compilations_.Instant(event);
    } else {
      CountBad(record);
    }
  }

  TraceRows& rows_;
  Compilations compilations_;
};

}  // namespace

namespace torch_trace {

void ReadLog(std::string_view text, TraceRows& rows) {
  LogReader reader(rows);
  ForEachRecord(text, rows.source, rows.issues,
                [&](const LogRecord& record) { reader.Take(record); });
  reader.Finish();
}

}  // namespace torch_trace

bool HoldsTorchTrace(const std::string& path) {
  const auto file = base::MappedFile::Open(path);
  return file.ok() && torch_trace::IsLog(file->text());
}

bool IsTorchTrace(const std::string& path) {
  const std::string_view name = base::BaseName(path);
  return name.starts_with(kLogPrefix) && name.ends_with(".log") && HoldsTorchTrace(path);
}

Result<int32_t> TorchTraceRank(const std::string& path) {
  std::string_view name = base::BaseName(path);
  if (!name.starts_with(kLogPrefix)) return store::kNone;
  name.remove_prefix(kLogPrefix.size());
  if (!name.starts_with(kRankPrefix)) return store::kNone;
  name.remove_prefix(kRankPrefix.size());
  const auto rank = base::ParseInt64(name.substr(0, name.find('_')));
  return rank && *rank >= 0 && *rank <= INT32_MAX ? static_cast<int32_t>(*rank) : store::kNone;
}

Result<int64_t> TorchTraceStamp(const std::string& path) {
  SONDE_ASSIGN_OR_RETURN(const uint64_t stamp, FileStamp(path));
  return static_cast<int64_t>(stamp);
}

Result<ImportSummary> ImportTorchTrace(const std::string& path, store::Store& store,
                                       const ImportOptions& /*options*/) {
  SONDE_ASSIGN_OR_RETURN(const base::MappedFile file, base::MappedFile::Open(path));
  SONDE_ASSIGN_OR_RETURN(auto transaction, store.Begin());
  TraceRows rows;
  rows.source = std::string(base::BaseName(path));
  SONDE_ASSIGN_OR_RETURN(rows.rank, TorchTraceRank(path));
  torch_trace::ReadLog(file.text(), rows);
  for (store::ProcessRow& process : rows.processes) {
    process.rank = rows.rank;
    process.name = rows.names.Intern("torch compiler");
  }
  if (rows.rank >= 0) rows.AddJson("rank", std::to_string(rows.rank));
  rows.issues.AddGarbled(rows.names, rows.source);
  SONDE_ASSIGN_OR_RETURN(ImportSummary summary, rows.Write(transaction));
  SONDE_RETURN_IF_ERROR(transaction.Commit());
  return summary;
}

}  // namespace sonde::importers
