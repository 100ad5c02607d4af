#include "importers/torch_trace/compilations.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/host/json_writer.h"
#include "base/strings.h"
#include "importers/torch_trace/issues.h"

namespace sonde::importers::torch_trace {
namespace {

using base::Concat;
using base::JsonValue;

constexpr std::string_view kTrack = "Compilation";
constexpr std::string_view kCategory = "compilation";
// As ranges of the compiler are called in a recording.
constexpr std::string_view kSuffix = " (dynamo_timed)";
constexpr std::string_view kExplanation = "Explanation: ";
constexpr std::string_view kBreakReason = "Graph Break Reason: ";
constexpr std::string_view kBreakPlace = "Graph break in user code at ";
constexpr size_t kMostText = 500;
constexpr int64_t kLongest = int64_t{1} << 61;

// Arguments of events that a reader of the timeline wants; others are texts of whole graphs.
constexpr std::array<std::string_view, 7> kArguments = {
    "compile_id", "fn_name",     "cache_state",        "cache_status_detailed",
    "key",        "is_backward", "cache_bypass_reason"};

std::string TextOf(const JsonValue& value) {
  return value.IsString() ? value.AsString().value_or("") : std::string();
}

int64_t NumberOf(const JsonValue& value) {
  return value.IsNumber() ? value.AsInt().value_or(0) : 0;
}

// The first line, each run of blanks as one.
std::string LineOf(std::string_view text) {
  text = base::Trim(text);
  text = text.substr(0, text.find('\n'));
  std::string line;
  for (const char letter : text) {
    const bool is_blank = letter == ' ' || letter == '\t' || letter == '\r';
    if (is_blank && (line.empty() || line.back() == ' ')) continue;
    line += is_blank ? ' ' : letter;
    if (line.size() >= kMostText) break;
  }
  return line;
}

// The line behind `mark`; "" where the text has none.
std::string_view Behind(std::string_view text, std::string_view mark) {
  const size_t at = text.find(mark);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + mark.size());
  return text.substr(0, text.find('\n'));
}

// "fx_graph_cache_miss" -> "fx_graph_cache miss"; "" for other instants.
std::string CacheOf(std::string_view event) {
  constexpr std::array<std::string_view, 4> kCaches = {"fx_graph_cache_", "autograd_cache_",
                                                       "aot_autograd_cache_", "triton_"};
  constexpr std::array<std::string_view, 4> kResults = {"hit", "miss", "bypass", "disabled"};
  const size_t cut = event.rfind('_');
  if (cut == std::string_view::npos) return {};
  const auto begins = [&](std::string_view cache) { return event.starts_with(cache); };
  if (std::ranges::none_of(kCaches, begins)) return {};
  const std::string_view result = event.substr(cut + 1);
  if (std::ranges::find(kResults, result) == kResults.end()) return {};
  return Concat(event.substr(0, cut), " ", result);
}

void AddOnce(std::vector<std::string>& list, std::string text) {
  if (!text.empty() && std::ranges::find(list, text) == list.end()) list.push_back(std::move(text));
}

std::string ErrorOf(const JsonValue& metrics, std::string_view error) {
  const std::string type = TextOf(metrics["fail_type"]);
  const std::string reason = LineOf(TextOf(metrics["fail_reason"]));
  if (type.empty() && reason.empty()) return std::string(error);
  return type.empty() ? reason : Concat(type, ": ", reason);
}

}  // namespace

// Of events that nest in another of their phase the outer one counts.
int Compilations::PhaseOf(std::string_view event) {
  constexpr std::array<std::pair<std::string_view, Phase>, 7> kNames = {{
      {"bytecode_tracing", kTracing},
      {"create_aot_dispatcher_function", kAot},
      {"inductor_compile", kInductor},
      {"fx_codegen_and_compile", kInductor},
      {"compile_file", kNative},
      {"async_compile.wait", kNative},
      {"build_guards", kGuards},
  }};
  const auto* found = std::ranges::find(kNames, event, [](const auto& pair) { return pair.first; });
  return found == kNames.end() ? -1 : found->second;
}

Compilations::Lane& Compilations::LaneOf(std::string_view id) {
  const auto found = lanes_.find(id);
  return found != lanes_.end() ? found->second : lanes_[std::string(id)];
}

void Compilations::Begin(const Event& event) {
  Lane& lane = LaneOf(event.id);
  last_ns_ = std::max(last_ns_, event.ts);
  lane.events.push_back({event.name, event.ts, event.pid});
  Open& open = lane.open;
  if (open.outermost.empty()) {
    open.outermost = event.name;
    open.begin_ns = event.ts;
  }
  open.events.push_back(event.name);
}

void Compilations::End(const Event& event) {
  Lane& lane = LaneOf(event.id);
  last_ns_ = std::max(last_ns_, event.ts);
  const auto is_it = [&](const OpenEvent& open) { return open.name == event.name; };
  const auto begin = std::find_if(lane.events.rbegin(), lane.events.rend(), is_it);
  if (begin == lane.events.rend()) {
    rows_.issues.Add(kNoBegin, rows_.source);
    return;
  }
  const int64_t inside = begin - lane.events.rbegin();  // without an end of their own
  if (inside > 0) rows_.issues.Add(kNoEnd, rows_.source, -1, inside);
  const OpenEvent range = std::move(*begin);
  lane.events.resize(lane.events.size() - static_cast<size_t>(inside) - 1);
  AddRange(event.id, range, event.ts, event.args);
  CountPhase(lane.open, event, range.ts);
  // Outside of a frame torch writes no numbers: the outermost event ends the compilation.
  if (event.id.empty() && lane.open.events.empty() && !lane.open.outermost.empty()) {
    WriteFact(event.id, {}, event.ts, "");
  }
}

void Compilations::CountPhase(Open& open, const Event& event, int64_t begin) {
  const auto found = std::find(open.events.rbegin(), open.events.rend(), event.name);
  if (found == open.events.rend()) return;  // its compilation has ended
  open.events.erase(found.base() - 1, open.events.end());
  open.last_ns = event.ts;
  const int phase = PhaseOf(event.name);
  const auto is_same = [&](const std::string& outer) { return PhaseOf(outer) == phase; };
  if (phase < 0 || std::ranges::any_of(open.events, is_same)) return;
  const int64_t span = std::max<int64_t>(SpanNs(begin, event.ts), 0);
  int64_t& sum = open.phases[static_cast<size_t>(phase)];
  sum = std::min(sum + std::min(span, kLongest), kLongest);
}

void Compilations::Instant(const Event& event) {
  last_ns_ = std::max(last_ns_, event.ts);
  AddRange(event.id, {event.name, event.ts, event.pid}, event.ts, event.args);
  std::string cache = CacheOf(event.name);
  if (cache.empty()) return;
  const std::string why = LineOf(TextOf(event.args["cache_bypass_reason"]));
  if (!why.empty()) cache += Concat(" (", why, ")");
  AddOnce(LaneOf(event.id).open.caches, std::move(cache));
}

void Compilations::AddBreak(std::string_view id, std::string_view text) {
  std::string_view reason = Behind(text, kExplanation);
  if (reason.empty()) reason = Behind(text, kBreakReason);
  const std::string_view place = base::Trim(Behind(text, kBreakPlace));
  std::string found = LineOf(reason.empty() ? text : reason);
  if (!place.empty()) found += Concat(" (", place, ")");
  AddOnce(LaneOf(id).open.breaks, std::move(found));
}

void Compilations::AddReason(std::string_view id, std::string_view reason) {
  std::string& known = LaneOf(id).open.reason;
  if (known.empty()) known = LineOf(reason);
}

void Compilations::Measured(std::string_view id, const JsonValue& metrics) {
  const Open& open = LaneOf(id).open;
  int64_t end = open.last_ns;
  const int64_t end_us = NumberOf(metrics["end_time_us"]);
  if (end_us > 0 && end_us < INT64_MAX / 1000) end = std::max(end, end_us * 1000);
  WriteFact(id, metrics, end, "");
}

void Compilations::Finish() {
  for (auto& [id, lane] : lanes_) {
    for (const OpenEvent& event : lane.events) {
      rows_.issues.Add(kNoEnd, rows_.source);
      AddRange(id, event, last_ns_, {});
    }
    lane.events.clear();
    const bool has_ended = lane.open.events.empty();
    if (!lane.open.outermost.empty()) {
      WriteFact(id, {}, has_ended ? lane.open.last_ns : last_ns_,
                has_ended ? "" : "the log ends before the compilation does");
    }
  }
}

void Compilations::AddRange(std::string_view id, const OpenEvent& event, int64_t end,
                            JsonValue args) {
  const int32_t track = rows_.Track({.kind = capture::TrackKind::kThread,
                                     .name = kTrack,
                                     .process_id = rows_.Process(event.pid)});
  const int32_t slice = rows_.AddSlice(track, event.ts, SpanNs(event.ts, end),
                                       rows_.names.Intern(Concat(event.name, kSuffix)),
                                       rows_.names.Intern(kCategory));
  const int32_t list = rows_.next_args_id++;
  rows_.slices[static_cast<size_t>(slice)].args_id = list;
  const auto add = [&](std::string_view key, std::string_view value) {
    if (value.empty()) return;
    rows_.args_text.push_back({.args_id = list,
                               .key = rows_.names.Intern(key),
                               .form = 0,
                               .value = rows_.names.Intern(value)});
  };
  for (const std::string_view key : kArguments) {
    const JsonValue value = args[key];
    if (key == "compile_id" && !id.empty()) {
      add(key, id);
    } else {
      add(key, value.IsBool() ? value.Dump() : LineOf(TextOf(value)));
    }
  }
}

void Compilations::WriteFact(std::string_view id, const JsonValue& metrics, int64_t end_ns,
                             std::string_view error) {
  const Open open = std::exchange(LaneOf(id).open, {});
  const bool has_phase = std::ranges::any_of(open.phases, [](int64_t ns) { return ns > 0; });
  if (!has_phase && TextOf(metrics["co_name"]).empty() && error.empty()) return;
  // A thread that compiles for another, whose phases have the time.
  if (metrics.IsNull() && PhaseOf(open.outermost) == kNative) return;
  const std::string number = std::to_string(number_++);
  const std::string zeros(number.size() < 5 ? 5 - number.size() : 0, '0');
  rows_.AddJson(Concat("compilation:", zeros, number), FactText(id, open, metrics, end_ns, error));
}

std::string Compilations::FactText(std::string_view id, const Open& open, const JsonValue& metrics,
                                   int64_t end_ns, std::string_view error) {
  base::JsonWriter json(nullptr);
  const auto text = [&](std::string_view key, std::string_view value) {
    json.Key(key);
    json.String(value);
  };
  const auto number = [&](std::string_view key, int64_t value) {
    json.Key(key);
    json.Int(std::max<int64_t>(value, 0));
  };
  const std::string measured_id = TextOf(metrics["compile_id"]);
  const std::string reason = LineOf(TextOf(metrics["recompile_reason"]));
  const auto& phases = open.phases;
  json.BeginObject();
  text("compile_id", measured_id.empty() ? id : std::string_view(measured_id));
  text("function", TextOf(metrics["co_name"]));
  text("file", TextOf(metrics["co_filename"]));
  number("line", NumberOf(metrics["co_firstlineno"]));
  number("begin_ns", open.begin_ns);
  number("dur_ns", SpanNs(open.begin_ns, end_ns));
  number("tracing_ns", phases[kTracing]);
  number("aot_ns", phases[kAot] - phases[kInductor]);  // each phase without those that follow it
  number("inductor_ns", phases[kInductor] - phases[kNative]);
  number("native_ns", phases[kNative]);
  number("guards_ns", phases[kGuards]);
  text("cache", base::Join(open.caches, ", "));
  text("reason", reason.empty() ? open.reason : reason);
  json.Key("breaks");
  json.BeginArray();
  for (const std::string& cause : open.breaks) json.String(cause);
  json.EndArray();
  number("guards", NumberOf(metrics["guard_count"]));
  number("operators", NumberOf(metrics["graph_op_count"]));
  json.Key("backward");
  json.Bool(metrics["is_forward"].IsBool() && !metrics["is_forward"].AsBool().value_or(true));
  text("error", ErrorOf(metrics, error));
  json.EndObject();
  return json.Take();
}

}  // namespace sonde::importers::torch_trace
