#include "exporters/otlp/otlp.h"

#include <map>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/host/json.h"
#include "base/host/json_writer.h"
#include "base/strings.h"
#include "exporters/otlp/request_spans.h"
#include "recipes/serving_summary/serving_summary.h"

namespace sonde::exporters {
namespace {

// Of a line; readers of such files and servers refuse longer ones (the Collector's take 1 MiB).
constexpr size_t kMostBytes = size_t{512} << 10U;

// Writes values as OTLP's JSON encoding has them: 64-bit numbers as texts.
struct OtlpValue {
  base::JsonWriter& json;

  void operator()(const std::string& text) const {
    json.Key("stringValue");
    json.String(text);
  }
  void operator()(int64_t number) const {
    json.Key("intValue");
    json.String(std::to_string(number));
  }
  void operator()(double number) const {
    json.Key("doubleValue");
    json.Double(number);
  }
  void operator()(bool is_true) const {
    json.Key("boolValue");
    json.Bool(is_true);
  }
  void operator()(const std::vector<std::string>& texts) const {
    json.Key("arrayValue");
    json.BeginObject();
    json.Key("values");
    json.BeginArray();
    for (const std::string& text : texts) {
      json.BeginObject();
      (*this)(text);
      json.EndObject();
    }
    json.EndArray();
    json.EndObject();
  }
};

void WriteAttributes(const std::vector<SpanAttribute>& attributes, base::JsonWriter& json) {
  json.Key("attributes");
  json.BeginArray();
  for (const SpanAttribute& attribute : attributes) {
    json.BeginObject();
    json.Key("key");
    json.String(attribute.key);
    json.Key("value");
    json.BeginObject();
    std::visit(OtlpValue{json}, attribute.value);
    json.EndObject();
    json.EndObject();
  }
  json.EndArray();
}

void WriteText(std::string_view key, std::string_view text, base::JsonWriter& json) {
  json.Key(key);
  json.String(text);
}

std::string JsonOf(const Span& span) {
  base::JsonWriter json(nullptr);
  json.BeginObject();
  WriteText("traceId", span.trace_id, json);
  WriteText("spanId", span.span_id, json);
  if (!span.parent_id.empty()) WriteText("parentSpanId", span.parent_id, json);
  json.Key("flags");
  json.Uint(span.flags);
  WriteText("name", span.name, json);
  json.Key("kind");
  json.Int(static_cast<int64_t>(span.kind));
  WriteText("startTimeUnixNano", std::to_string(span.begin_ns), json);
  WriteText("endTimeUnixNano", std::to_string(span.end_ns), json);
  WriteAttributes(span.attributes, json);
  if (!span.events.empty()) {
    json.Key("events");
    json.BeginArray();
    for (const auto& [name, time_ns] : span.events) {
      json.BeginObject();
      WriteText("timeUnixNano", std::to_string(time_ns), json);
      WriteText("name", name, json);
      json.EndObject();
    }
    json.EndArray();
  }
  if (!span.error.empty()) {
    constexpr int64_t kError = 2;
    json.Key("status");
    json.BeginObject();
    WriteText("message", span.error, json);
    json.Key("code");
    json.Int(kError);
    json.EndObject();
  }
  json.EndObject();
  return json.Take();
}

// Lines of a bounded length, each with the whole frame of spans around them.
class OtlpLines {
 public:
  OtlpLines(base::AtomicFile& file, const SpannedSession& session) : file_(file) {
    base::JsonWriter json(nullptr);
    json.BeginObject();
    const std::vector<SpanAttribute> resource = {{"service.name", std::string("vllm")},
                                                 {"service.instance.id", session.name}};
    WriteAttributes(resource, json);
    json.EndObject();
    head_ = base::Concat(R"({"resourceSpans":[{"resource":)", json.Take(),
                         R"(,"scopeSpans":[{"scope":{"name":"sonde","version":")", SONDE_VERSION,
                         R"("},"spans":[)");
  }

  void Add(const Span& span) {
    const std::string json = JsonOf(span);
    if (!line_.empty() && line_.size() + json.size() > kMostBytes) EndLine();
    line_ += line_.empty() ? head_ : std::string(",");
    line_ += json;
  }
  void EndLine() {
    if (line_.empty()) return;
    line_ += "]}]}]}\n";
    static_cast<void>(file_.Append(line_));  // Commit reports a failure
    line_.clear();
  }

 private:
  base::AtomicFile& file_;
  std::string head_;
  std::string line_;
};

// Of the front-end's metadata, as its capture has them: JSON.
std::string ServedModel(const store::RowTables& tables) {
  for (const store::MetadataRow& row : tables.Rows<store::MetadataRow>()) {
    if (row.key != "served_model") continue;
    const auto document = base::JsonDocument::Parse(row.value, "served_model");
    return document.ok() ? document->root().AsString().value_or("") : std::string();
  }
  return {};
}

}  // namespace

Status ExportOtlp(const ExportContext& context) {
  if (context.serving == nullptr || context.data().tables == nullptr) {
    return base::FailedPreconditionError("traces of requests are made of a session of a server");
  }
  const store::RowTables& tables = *context.data().tables;
  const auto served = recipes::ServedSession::Of(tables);
  const SpannedSession session{served, context.span_name, ServedModel(tables)};
  std::map<int32_t, const recipes::RequestTime*> times;
  for (const recipes::RequestTime& time : context.serving->times.requests) {
    times[time.row->request_id] = &time;
  }
  SONDE_ASSIGN_OR_RETURN(base::AtomicFile file,
                         base::AtomicFile::Create(base::JoinPath(context.span_folder, kOtlpFile)));
  OtlpLines lines(file, session);
  int64_t open = 0;
  for (const store::RequestRow& row : tables.Rows<store::RequestRow>()) {
    if (row.dur < 0 || row.ts <= 0) {
      ++open;
      continue;
    }
    const auto time = times.find(row.request_id);
    for (const Span& span : SpansOf(session, row, time == times.end() ? nullptr : time->second)) {
      lines.Add(span);
    }
  }
  lines.EndLine();
  if (context.left_out != nullptr) {
    context.left_out->Add("otlp", "requests that had not ended", open);
  }
  return file.Commit();
}

}  // namespace sonde::exporters
