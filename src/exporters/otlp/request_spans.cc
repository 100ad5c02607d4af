#include "exporters/otlp/request_spans.h"

#include <algorithm>
#include <array>

#include "base/host/json.h"
#include "base/strings.h"
#include "exporters/otlp/trace_ids.h"

namespace sonde::exporters {
namespace {

using base::Concat;
using recipes::PathPiece;
using recipes::RequestPart;

// Of OTLP's Span.flags: whether it is known if the parent is of another process, and if it is.
constexpr uint32_t kHasIsRemote = 0x100;
constexpr uint32_t kIsRemote = 0x200;

// Where `sonde view SESSION --port 9000` shows a request.
constexpr std::string_view kPage = "http://127.0.0.1:9000/#view=serving&x.request=";

std::string_view TextOf(const SpannedSession& session, int32_t name) {
  return recipes::NameIn(*session.served.tables, name);
}

// The route is not recorded; the server's id of the request begins with its kind.
std::string_view OperationOf(std::string_view request) {
  if (request.starts_with("chatcmpl-")) return "chat";
  return request.starts_with("embd-") ? "embeddings" : "text_completion";
}

class RequestSpan {
 public:
  RequestSpan(const SpannedSession& session, const store::RequestRow& row) : row_(row) {
    const std::string_view id = TextOf(session, row.name);
    const auto parent = ParseTraceParent(TextOf(session, row.traceparent));
    span_.trace_id = parent ? std::string(parent->trace_id)
                            : MakeTraceId(session.name, Concat(id, "\n", std::to_string(row.ts)));
    if (parent) span_.parent_id = parent->span_id;
    span_.flags = (parent ? parent->flags | kIsRemote : 0) | kHasIsRemote;
    span_.span_id = MakeSpanId(span_.trace_id, session.name, row.request_id, 0);
    span_.name = OperationOf(id);
    span_.kind = SpanKind::kServer;
    span_.begin_ns = row.ts;
    span_.end_ns = recipes::DeliveredNs(row);
    Add("gen_ai.operation.name", std::string(OperationOf(id)));
    Add("gen_ai.provider.name", std::string("vllm"));
    if (!session.model.empty()) {
      span_.name += Concat(" ", session.model);
      Add("gen_ai.request.model", session.model);
    }
    AddText("gen_ai.response.id", id);
    AddSampling(TextOf(session, row.sampling));
    AddUse();
    AddEnd(TextOf(session, row.finish_reason));
    const std::string_view request_id = TextOf(session, row.x_request_id);
    if (!request_id.empty()) {
      Add("http.request.header.x-request-id", std::vector<std::string>{std::string(request_id)});
    }
    AddText("sonde.lora", TextOf(session, row.lora));
    Add("sonde.link", Concat(kPage, std::to_string(row.request_id)));
  }

  void Explain(const recipes::RequestTime& time) {
    Add("sonde.is_slow", time.is_slow);
    if (!time.reasons.empty()) {
      Add("sonde.why", std::string(recipes::KeyOfPart(time.reasons[0].part)));
    }
    Add("sonde.reason", recipes::ReasonOf(time));
    Add("sonde.usual_ns", time.usual_ns);
  }

  Span Take() { return std::move(span_); }

 private:
  template <class Value>
  void Add(std::string_view key, Value value) {
    span_.attributes.push_back({std::string(key), std::move(value)});
  }
  void AddText(std::string_view key, std::string_view text) {
    if (!text.empty()) Add(key, std::string(text));
  }
  void AddCount(std::string_view key, int64_t count) {
    if (count >= 0) Add(key, count);
  }
  void AddSeconds(std::string_view key, int64_t ns) {
    if (ns >= 0) Add(key, static_cast<double>(ns) / 1e9);
  }

  void AddSampling(std::string_view json) {
    AddCount("gen_ai.request.max_tokens", row_.max_tokens);
    const auto document = base::JsonDocument::Parse(json.empty() ? "{}" : json, "sampling");
    if (!document.ok()) return;
    // Types are those of the conventions.
    constexpr std::pair<std::string_view, std::string_view> kDoubles[] = {
        {"temperature", "gen_ai.request.temperature"},
        {"top_p", "gen_ai.request.top_p"},
        {"top_k", "gen_ai.request.top_k"}};
    constexpr std::pair<std::string_view, std::string_view> kInts[] = {
        {"n", "gen_ai.request.choice.count"}, {"seed", "gen_ai.request.seed"}};
    for (const auto& [name, key] : kDoubles) {
      const auto value = document->root()[name].AsDouble();
      if (value.ok()) Add(key, *value);
    }
    for (const auto& [name, key] : kInts) {
      const auto value = document->root()[name].AsInt();
      if (value.ok()) Add(key, *value);
    }
  }

  void AddUse() {
    AddCount("gen_ai.usage.input_tokens", row_.prompt_tokens);
    AddCount("gen_ai.usage.output_tokens", row_.output_tokens);
    AddCount("gen_ai.usage.cache_read.input_tokens", row_.cached_tokens);
    AddSeconds("gen_ai.latency.time_to_first_token", row_.ttft_ns);
    AddSeconds("gen_ai.latency.time_in_queue", row_.queue_ns);
    AddCount("sonde.request_id", row_.request_id);
    AddCount("sonde.preemptions", row_.preemptions);
    if (row_.first_token_ts >= 0) span_.events.emplace_back("first token", row_.first_token_ts);
  }

  void AddEnd(std::string_view reason) {
    if (reason.empty()) return;
    constexpr std::string_view kRefused = "refused: ";
    if (reason.starts_with(kRefused)) {
      const std::string_view status = reason.substr(kRefused.size());
      Add("error.type", std::string(status));
      if (const auto code = base::ParseInt64(status)) Add("http.response.status_code", *code);
      span_.error = reason;
      return;
    }
    Add("gen_ai.response.finish_reasons", std::vector<std::string>{std::string(reason)});
    if (reason == "engine died" || reason == "error") {
      Add("error.type", std::string(reason));
      span_.error = reason;
    }
  }

  const store::RequestRow& row_;
  Span span_;
};

bool TakesTurns(RequestPart part) {
  return part == RequestPart::kDecode || part == RequestPart::kDelivery;
}

// Pieces that are one span.
struct PieceRun {
  size_t begin = 0;
  size_t end = 0;
  RequestPart part = RequestPart::kUnexplained;
};

std::vector<PieceRun> RunsOf(const std::vector<PathPiece>& path) {
  std::vector<PieceRun> runs;
  for (size_t i = 0; i < path.size(); ++i) {
    const RequestPart part = path[i].part;
    // What the client waited for behind the last token is no part of decoding.
    const bool is_last = i + 1 == path.size();
    if (!runs.empty() && TakesTurns(part) && TakesTurns(runs.back().part) && !is_last) {
      runs.back().end = i + 1;
      if (part == RequestPart::kDecode) runs.back().part = part;
    } else {
      runs.push_back({i, i + 1, part});
    }
  }
  return runs;
}

Span ChildOf(const Span& parent, const std::vector<PathPiece>& path, const PieceRun& run) {
  Span span;
  span.trace_id = parent.trace_id;
  span.parent_id = parent.span_id;
  span.flags = (parent.flags & ~kIsRemote) | kHasIsRemote;
  span.name = recipes::KeyOfPart(run.part);
  span.begin_ns = path[run.begin].begin_ns;
  span.end_ns = path[run.end - 1].end_ns;
  span.attributes.push_back({"sonde.part", span.name});
  if (run.end - run.begin > 1) {
    std::array<int64_t, recipes::kRequestParts> sums{};
    for (size_t i = run.begin; i < run.end; ++i) {
      sums[static_cast<size_t>(path[i].part)] += path[i].end_ns - path[i].begin_ns;
    }
    for (const RequestPart part : {RequestPart::kDecode, RequestPart::kDelivery}) {
      const int64_t sum = sums[static_cast<size_t>(part)];
      const std::string key = Concat("sonde.", recipes::KeyOfPart(part), "_ns");
      if (sum > 0) span.attributes.push_back({key, sum});
    }
  }
  return span;
}

}  // namespace

std::vector<Span> SpansOf(const SpannedSession& session, const store::RequestRow& row,
                          const recipes::RequestTime* time) {
  RequestSpan own(session, row);
  if (time != nullptr) own.Explain(*time);
  std::vector<Span> spans = {own.Take()};
  if (time == nullptr) return spans;
  const std::vector<PathPiece> path = recipes::PathOf(session.served, row);
  // The client waits before the application sees its request, and while others have the loop.
  if (!path.empty()) spans[0].begin_ns = std::min(row.ts, path.front().begin_ns);
  for (const PieceRun& run : RunsOf(path)) {
    Span child = ChildOf(spans[0], path, run);
    child.span_id = MakeSpanId(child.trace_id, session.name, row.request_id,
                               static_cast<int64_t>(spans.size()));
    spans.push_back(std::move(child));
  }
  return spans;
}

}  // namespace sonde::exporters
