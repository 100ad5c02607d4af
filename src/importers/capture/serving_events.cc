// Finds the events of a server in one capture.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/bytes.h"
#include "base/strings.h"
#include "importers/capture/serving.h"

namespace sonde::importers::capture_import {
namespace {

constexpr std::pair<std::string_view, ServingKind> kFlowNames[] = {
    {"step", ServingKind::kStep},         {"update", ServingKind::kUpdate},
    {"prefill", ServingKind::kPrefill},   {"decode", ServingKind::kDecode},
    {"cached", ServingKind::kCached},     {"preempt", ServingKind::kPreempt},
    {"drafted", ServingKind::kDrafted},   {"output", ServingKind::kOutput},
    {"token", ServingKind::kToken},       {"sent", ServingKind::kSent},
    {"answered", ServingKind::kAnswered}, {"delivered", ServingKind::kDelivered},
};

constexpr std::pair<std::string_view, RequestMoment> kMarkNames[] = {
    {"request arrived", RequestMoment::kArrived}, {"request known", RequestMoment::kKnown},
    {"request queued", RequestMoment::kQueued},   {"request finished", RequestMoment::kFinished},
    {"request ended", RequestMoment::kDone},
};

// Sampling parameters of a request.
constexpr std::string_view kSampling[] = {"temperature", "top_p", "top_k", "n", "seed"};

struct FlowName {
  ServingKind kind;
  int64_t value;
};

// "sonde.decode 1" -> {kDecode, 1}; none for names of a newer recorder.
std::optional<FlowName> ParseFlowName(std::string_view name) {
  if (!IsServingFlow(name)) return std::nullopt;
  name.remove_prefix(name.find('.') + 1);
  const size_t blank = name.find(' ');
  const auto value = blank == std::string_view::npos ? std::optional<int64_t>(0)
                                                     : base::ParseInt64(name.substr(blank + 1));
  for (const auto& [text, kind] : kFlowNames) {
    if (text == name.substr(0, blank)) return FlowName{kind, value.value_or(0)};
  }
  return std::nullopt;
}

class Finder {
 public:
  explicit Finder(const CaptureTrace& trace) : trace_(trace) {
    events_.process_id = kProcessId;
    events_.begin_ns = trace.recording_ns;
    const auto& domains = trace.dictionary.domains;
    const auto place = std::find(domains.begin(), domains.end(), kServingDomain);
    if (place != domains.end()) domain_ = static_cast<int>(place - domains.begin());
  }

  ServingEvents Find() {
    if (domain_ < 0) return std::move(events_);
    for (const ThreadStage& stage : trace_.stages) FindSpans(stage);
    for (const ThreadStage& stage : trace_.stages) {
      TakeFlows(stage);
      TakeMarks(stage);
      TakeCounters(stage);
    }
    const auto by_time = [](const auto& a, const auto& b) { return a.ts < b.ts; };
    std::stable_sort(events_.flows.begin(), events_.flows.end(), by_time);
    std::stable_sort(events_.facts.begin(), events_.facts.end(), by_time);
    std::stable_sort(events_.steps.begin(), events_.steps.end(), by_time);
    for (auto* counter : {&events_.running, &events_.waiting, &events_.kv_use}) {
      std::stable_sort(counter->begin(), counter->end(), by_time);
    }
    return std::move(events_);
  }

 private:
  bool IsOurs(uint8_t domain) const { return static_cast<int>(domain) == domain_; }

  // Ranges that may end anywhere, by the number that the recorder gave them: those of engine steps
  // and of requests. A node does not know its number; begin and name identify it among a thread's.
  void FindSpans(const ThreadStage& stage) {
    std::map<std::pair<int64_t, uint32_t>, const Node*> nodes;
    for (const Node& node : stage.nodes) {
      if (node.kind != capture::RecordKind::kSpanBegin || !IsOurs(node.domain)) continue;
      nodes[{node.ts, node.name}] = &node;
      if (trace_.dictionary.Name(node.name) == "engine step") {
        events_.steps.push_back(
            {node.ts, node.end, node.slice_id, UseBetween(stage, node.ts, node.end)});
      }
    }
    for (const SpanEnd& span : stage.spans) {
      if (!span.begin || !IsOurs(span.domain)) continue;
      const auto node = nodes.find({span.ts, span.name});
      if (node != nodes.end()) slice_of_span_[span.key] = node->second->slice_id;
    }
  }

  void TakeFlows(const ThreadStage& stage) {
    for (const FlowEnd& end : stage.flows) {
      auto [place, is_new] = flow_names_.try_emplace(end.name);
      if (is_new) place->second = ParseFlowName(trace_.dictionary.Name(end.name));
      if (!place->second) continue;
      ServingFlow flow;
      flow.ts = end.ts;
      flow.key = end.key;
      flow.kind = place->second->kind;
      flow.value = place->second->value;
      flow.out = end.out;
      if (end.node != kNoNode) {
        const Node& node = trace_.NodeOf(stage, end.node);
        flow.range_ts = node.ts;
        flow.range_end = node.end;
        flow.slice_id = node.slice_id;
      }
      events_.flows.push_back(flow);
    }
  }

  void TakeMarks(const ThreadStage& stage) {
    for (const MarkInstant& mark : stage.marks) {
      if (!IsOurs(mark.domain) || mark.args >= trace_.dictionary.args.size()) continue;
      for (const auto& [text, moment] : kMarkNames) {
        if (text != trace_.dictionary.Name(mark.name)) continue;
        RequestFact fact;
        fact.ts = mark.ts;
        fact.moment = moment;
        ForEachField(trace_.dictionary.args[mark.args],
                     [&](const ArgField& field) { TakeField(field, fact); });
        if (!fact.sampling.empty()) fact.sampling += '}';
        events_.facts.push_back(std::move(fact));
      }
    }
  }

  void TakeField(const ArgField& field, RequestFact& fact) {
    const std::string_view key = trace_.dictionary.Name(field.key);
    if (field.type == capture::ArgType::kText) {
      const std::string_view text = base::AsText(field.payload);
      if (key == "request") fact.name = text;
      if (key == "reason") fact.reason = text;
      if (key == "lora") fact.lora = text;
      if (key == "traceparent") fact.traceparent = text;
      if (key == "x-request-id") fact.x_request_id = text;
      return;
    }
    if (std::find(std::begin(kSampling), std::end(kSampling), key) != std::end(kSampling)) {
      AddSampling(key, field, fact.sampling);
    }
    if (field.type != capture::ArgType::kInt64 || field.payload.size() != 8) return;
    const auto value = base::LoadLe<int64_t>(field.payload.data());
    if (key == "key") fact.key = static_cast<uint64_t>(value);
    if (key == "age_ns") fact.arrival_ns = fact.ts - value;
    if (key == "queued") fact.is_queued = value != 0;
    if (key == "prompt_tokens") fact.prompt_tokens = value;
    if (key == "output_tokens") fact.output_tokens = value;
    if (key == "preemptions") fact.preemptions = value;
    if (key == "waited_ns") fact.loop_lag_ns = value;
    // Of older recorders, which reported 0 after most pauses.
    if (key == "loop_lag_ns" && value > 0) fact.loop_lag_ns = value;
    if (key == "max_tokens") fact.max_tokens = value;
    if (key == "range") {
      const auto slice = slice_of_span_.find(static_cast<uint64_t>(value));
      if (slice != slice_of_span_.end()) fact.slice_id = slice->second;
    }
  }

  // One more member of a JSON object.
  static void AddSampling(std::string_view key, const ArgField& field, std::string& json) {
    if (field.payload.size() != 8) return;
    std::string number;
    if (field.type == capture::ArgType::kInt64) {
      number = std::to_string(base::LoadLe<int64_t>(field.payload.data()));
    } else if (field.type == capture::ArgType::kDouble) {
      const auto value = base::LoadLe<double>(field.payload.data());
      if (!std::isfinite(value)) return;
      number = base::PythonDoubleText(value);
    } else {
      return;
    }
    json += base::Concat(json.empty() ? "{" : ",", "\"", key, "\":", number);
  }

  void TakeCounters(const ThreadStage& stage) {
    for (const CounterInstant& counter : stage.counters) {
      const std::string_view name = trace_.dictionary.Name(counter.name);
      if (name == "running requests") events_.running.push_back(counter);
      if (name == "waiting requests") events_.waiting.push_back(counter);
      if (name == "KV cache use") events_.kv_use.push_back(counter);
    }
  }

  const CaptureTrace& trace_;
  ServingEvents events_;
  int domain_ = -1;
  std::unordered_map<uint64_t, int32_t> slice_of_span_;
  std::unordered_map<uint32_t, std::optional<FlowName>> flow_names_;
};

}  // namespace

ServingEvents FindServingEvents(const CaptureTrace& trace) { return Finder(trace).Find(); }

}  // namespace sonde::importers::capture_import
