// From the events of a server's processes to requests, engine steps and their relation.
#include <algorithm>
#include <iterator>
#include <map>
#include <unordered_map>
#include <utility>

#include "importers/capture/serving.h"
#include "store/table_writer.h"

namespace sonde::importers::capture_import {
namespace {

constexpr unsigned kStepBits = 40;  // of a step's key; its engine, from 1, is above

constexpr std::string_view kEngineDied = "engine died";

int32_t EngineOf(uint64_t key) { return static_cast<int32_t>(key >> kStepBits) - 1; }
int64_t NumberOf(uint64_t key) {
  return static_cast<int64_t>(key & ((uint64_t{1} << kStepBits) - 1));
}

// Tokens of one request from one place to the next.
struct Tokens {
  int64_t ts = 0;
  int64_t count = 0;
  size_t row = SIZE_MAX;  // of request_step, where the engine recorded it
};

struct Request {
  store::RequestRow row;
  std::string_view name;
  std::string_view engine_reason;
  std::string_view reason;
  int64_t before = 0;            // tokens that it had in the engine's first record of it
  int64_t before_ns = -1;        // this moment
  int64_t front_end_before = 0;  // the same of the front-end; -1 unknown
  int64_t end_ns = -1;
  int64_t cut_ns = -1;   // its engine died
  bool arrived = false;  // its arrival was recorded, here or in the engine
  bool has_front_end = false;
  std::vector<Tokens> outputs;    // of the engine
  std::vector<Tokens> tokens;     // as they reached the front-end
  std::vector<int64_t> sent;      // pieces of a stream
  std::vector<size_t> row_steps;  // rows of request_step
};

struct Step {
  store::EngineStepRow row;
  int32_t schedule_slice = store::kNone;
};

class Builder {
 public:
  Builder(int32_t next_flow, store::NamePool& names) : names_(names), next_flow_(next_flow) {
    prefill_ = names.Intern("prefill");
    decode_ = names.Intern("decode");
  }

  ServingRows Build(const std::vector<ServingEvents>& parts) {
    for (const ServingEvents& part : parts) {
      for (const RequestFact& fact : part.facts) TakeFact(fact);
    }
    for (const ServingEvents& part : parts) FindSteps(part);
    for (const ServingEvents& part : parts) TakeBatches(part);
    for (const ServingEvents& part : parts) TakeOutputs(part);
    for (const ServingEvents& part : parts) TakeMoments(part);
    for (auto& [key, request] : requests_) Finish(key, request);
    NumberRequests();
    for (const ServingEvents& part : parts) JoinRanks(part);
    for (Step& step : steps_) rows_.engine_steps.push_back(step.row);
    std::stable_sort(rows_.engine_steps.begin(), rows_.engine_steps.end(),
                     [](const auto& a, const auto& b) { return a.ts < b.ts; });
    return std::move(rows_);
  }

 private:
  using SliceKey = std::pair<int32_t, int32_t>;  // process and slice

  void TakeFact(const RequestFact& fact) {
    Request& request = requests_[fact.key];
    store::RequestRow& row = request.row;
    if (!fact.name.empty()) request.name = fact.name;
    if (fact.prompt_tokens >= 0) row.prompt_tokens = fact.prompt_tokens;
    switch (fact.moment) {
      case RequestMoment::kArrived:
        request.has_front_end = request.arrived = true;
        row.ts = fact.arrival_ns;
        row.tokenized_ts = fact.ts;
        row.slice_id = fact.slice_id;
        TakeSettings(fact, row);
        break;
      case RequestMoment::kKnown:
        request.front_end_before = fact.output_tokens;
        break;
      case RequestMoment::kQueued:
        TakeQueued(fact, request);
        break;
      case RequestMoment::kFinished:
        request.engine_reason = fact.reason;
        row.preemptions = static_cast<int32_t>(std::max<int64_t>(fact.preemptions, 0));
        if (request.end_ns < 0) request.end_ns = fact.ts;
        break;
      case RequestMoment::kDone:
        // The front-end finds stop texts, and makes the engine abort.
        request.reason = fact.reason;
        request.end_ns = fact.ts;
        if (fact.reason == kEngineDied) request.cut_ns = fact.ts;
        break;
    }
  }

  void TakeSettings(const RequestFact& fact, store::RequestRow& row) {
    row.loop_lag_ns = fact.loop_lag_ns;
    row.max_tokens = fact.max_tokens;
    if (!fact.sampling.empty()) row.sampling = names_.Intern(fact.sampling);
    if (!fact.lora.empty()) row.lora = names_.Intern(fact.lora);
    if (!fact.traceparent.empty()) row.traceparent = names_.Intern(fact.traceparent);
    if (!fact.x_request_id.empty()) row.x_request_id = names_.Intern(fact.x_request_id);
  }

  // At the begin of a recording the engine names the requests that it has, with no moment of
  // queueing; one of them may be known already.
  void TakeQueued(const RequestFact& fact, Request& request) {
    store::RequestRow& row = request.row;
    if (fact.is_queued) row.queued_ts = fact.ts;
    if (row.queued_ts < 0) {
      request.before = std::max<int64_t>(fact.output_tokens, 0);
      request.before_ns = fact.ts;
    }
    if (request.has_front_end) return;
    row.ts = fact.arrival_ns;
    request.arrived = row.queued_ts >= 0;
    TakeSettings(fact, row);
  }

  // Value of a counter within a range.
  static double Within(const std::vector<CounterInstant>& values, int64_t begin, int64_t end) {
    const auto place =
        std::lower_bound(values.begin(), values.end(), begin,
                         [](const CounterInstant& counter, int64_t ts) { return counter.ts < ts; });
    return place != values.end() && place->ts <= end ? place->value : 0;
  }

  void FindSteps(const ServingEvents& part) {
    for (const ServingFlow& flow : part.flows) {
      if (flow.kind != ServingKind::kStep || !flow.out) continue;
      Step step;
      store::EngineStepRow& row = step.row;
      row.step_id = NumberOf(flow.key);
      row.engine = EngineOf(flow.key);
      row.process_id = part.process_id;
      row.ts = flow.range_ts;
      row.dur = -1;
      row.schedule_ns = flow.range_end == kOpenEnd ? 0 : flow.range_end - flow.range_ts;
      row.running_requests =
          static_cast<int32_t>(Within(part.running, flow.range_ts, flow.range_end));
      row.waiting_requests =
          static_cast<int32_t>(Within(part.waiting, flow.range_ts, flow.range_end));
      row.kv_cache_usage = Within(part.kv_use, flow.range_ts, flow.range_end);
      step.schedule_slice = flow.slice_id;
      const auto range =
          std::lower_bound(part.steps.begin(), part.steps.end(), flow.range_ts,
                           [](const ServingRange& one, int64_t ts) { return one.ts < ts; });
      if (range != part.steps.end() && range->ts <= flow.range_end) {
        row.slice_id = range->slice_id;
        SetProcessorUse(range->use, row);
        if (range->end != kOpenEnd) row.dur = range->end - row.ts;
      }
      step_of_key_[flow.key] = steps_.size();
      step_of_slice_[{part.process_id, flow.slice_id}] = steps_.size();
      steps_.push_back(step);
    }
  }

  void TakeBatches(const ServingEvents& part) {
    std::map<std::pair<size_t, uint64_t>, int64_t> hits;
    for (const ServingFlow& flow : part.flows) {
      const bool is_batch = flow.kind == ServingKind::kPrefill || flow.kind == ServingKind::kDecode;
      if (!is_batch && flow.kind != ServingKind::kCached && flow.kind != ServingKind::kPreempt) {
        continue;
      }
      const auto step = step_of_slice_.find({part.process_id, flow.slice_id});
      if (step == step_of_slice_.end()) continue;
      store::EngineStepRow& row = steps_[step->second].row;
      const auto value = static_cast<int32_t>(flow.value);
      if (flow.kind == ServingKind::kPreempt) {
        ++row.preempted_requests;
        ++preempted_[flow.key];
      } else if (flow.kind == ServingKind::kCached) {
        row.prefix_hit_tokens += value;
        requests_[flow.key].row.cached_tokens = flow.value;
      } else {
        const bool is_prefill = flow.kind == ServingKind::kPrefill;
        (is_prefill ? row.prefill_requests : row.decode_requests) += 1;
        (is_prefill ? row.prefill_tokens : row.decode_tokens) += value;
        AddPart(step->second, flow, is_prefill ? prefill_ : decode_);
      }
    }
  }

  void AddPart(size_t place, const ServingFlow& flow, int32_t phase) {
    const store::EngineStepRow& step = steps_[place].row;
    Request& request = requests_[flow.key];
    request.row.engine = step.engine;
    if (request.row.scheduled_ts < 0 && request.row.queued_ts >= 0) {
      request.row.scheduled_ts = step.ts;
    }
    store::RequestStepRow row;
    row.step_id = step.step_id;
    row.engine = step.engine;
    row.phase = phase;
    row.tokens = static_cast<int32_t>(flow.value);
    request.row_steps.push_back(rows_.request_steps.size());
    row_of_part_[{flow.key, place}] = rows_.request_steps.size();
    if (step.slice_id >= 0) pending_flows_.emplace_back(flow.key, step.slice_id);
    rows_.request_steps.push_back(row);
  }

  // Outputs and ends of requests are recorded in the range that deals with a step's output.
  void TakeOutputs(const ServingEvents& part) {
    std::unordered_map<int32_t, size_t> step_of_update;     // by slice
    std::map<int64_t, std::pair<int64_t, size_t>> updates;  // begin, end and step
    for (const ServingFlow& flow : part.flows) {
      if (flow.kind != ServingKind::kUpdate) continue;
      const auto step = step_of_key_.find(flow.key);
      if (step == step_of_key_.end()) continue;
      step_of_update[flow.slice_id] = step->second;
      store::EngineStepRow& row = steps_[step->second].row;
      if (flow.range_end == kOpenEnd) continue;
      row.update_ns = flow.range_end - flow.range_ts;
      updates[flow.range_ts] = {flow.range_end, step->second};
    }
    for (const RequestFact& fact : part.facts) {
      auto update = updates.upper_bound(fact.ts);
      if (fact.moment != RequestMoment::kFinished || update == updates.begin()) continue;
      const auto& [end_ns, step] = std::prev(update)->second;
      if (fact.ts <= end_ns) ++steps_[step].row.finished_requests;
    }
    for (const ServingFlow& flow : part.flows) {
      const auto step = step_of_update.find(flow.slice_id);
      const size_t place = step == step_of_update.end() ? SIZE_MAX : step->second;
      if (flow.kind == ServingKind::kDrafted) TakeDrafts(flow, place);
      if (flow.kind == ServingKind::kOutput) TakeOutput(flow, place);
    }
  }

  store::RequestStepRow* PartOf(uint64_t key, size_t step) {
    const auto place = row_of_part_.find({key, step});
    return place == row_of_part_.end() ? nullptr : &rows_.request_steps[place->second];
  }

  // Recorded before the output of its step.
  void TakeDrafts(const ServingFlow& flow, size_t step) {
    if (step == SIZE_MAX) return;  // begun before the recording
    store::RequestRow& request = requests_[flow.key].row;
    request.drafted_tokens = std::max<int64_t>(request.drafted_tokens, 0) + flow.value;
    request.accepted_tokens = std::max<int64_t>(request.accepted_tokens, 0);
    drafted_[{flow.key, step}] += flow.value;
    steps_[step].row.drafted_tokens += static_cast<int32_t>(flow.value);
    if (auto* part = PartOf(flow.key, step)) {
      part->drafted_tokens += static_cast<int32_t>(flow.value);
    }
  }

  void TakeOutput(const ServingFlow& flow, size_t step) {
    Request& request = requests_[flow.key];
    Tokens tokens{flow.ts, flow.value};
    const auto drafted = drafted_.find({flow.key, step});
    // The model's own token comes after those of the speculator that it accepted.
    const int64_t accepted =
        drafted == drafted_.end()
            ? 0
            : std::clamp<int64_t>(flow.value - 1, 0, std::max<int64_t>(drafted->second, 0));
    if (accepted > 0) request.row.accepted_tokens += accepted;
    if (step != SIZE_MAX) {
      store::EngineStepRow& row = steps_[step].row;
      row.output_tokens += static_cast<int32_t>(flow.value);
      row.accepted_tokens += static_cast<int32_t>(accepted);
      if (auto* part = PartOf(flow.key, step)) {
        tokens.row = static_cast<size_t>(part - rows_.request_steps.data());
        part->output_tokens = static_cast<int32_t>(flow.value);
        part->output_ts = flow.ts;
      }
    }
    request.outputs.push_back(tokens);
  }

  void TakeMoments(const ServingEvents& part) {
    for (const ServingFlow& flow : part.flows) {
      if (flow.kind == ServingKind::kToken) {
        Request& request = requests_[flow.key];
        request.has_front_end = true;
        request.tokens.push_back({flow.ts, flow.value});
        first_front_end_ns_ = std::min(first_front_end_ns_, part.begin_ns);
      } else if (flow.kind == ServingKind::kSent) {
        requests_[flow.key].sent.push_back(flow.ts);
      } else if (flow.kind == ServingKind::kAnswered) {
        requests_[flow.key].end_ns = flow.ts;
      } else if (flow.kind == ServingKind::kDelivered) {
        requests_[flow.key].row.delivered_ts = flow.ts;
      }
    }
  }

  void Finish(uint64_t key, Request& request) {
    store::RequestRow& row = request.row;
    if (row.preemptions == 0) {
      const auto preempted = preempted_.find(key);
      if (preempted != preempted_.end()) row.preemptions = preempted->second;
    }
    std::vector<Tokens>& given = request.has_front_end ? request.tokens : request.outputs;
    size_t output = FirstSeen(request);
    for (const Tokens& tokens : request.tokens) {
      if (output >= request.outputs.size()) break;
      const size_t part = request.outputs[output++].row;
      if (part != SIZE_MAX) rows_.request_steps[part].sent_ts = ClientMoment(request, tokens.ts);
    }
    int64_t count = 0;
    for (const Tokens& tokens : given) count += tokens.count;
    row.output_tokens = static_cast<int32_t>(count);
    if (!given.empty()) {
      const bool is_first = request.before == 0 && request.arrived;
      if (is_first) row.first_token_ts = ClientMoment(request, given.front().ts);
      row.last_token_ts = ClientMoment(request, given.back().ts);
    }
    FinishTimes(request);
  }

  // The first output of the engine that the front-end recorded, too. Tokens reach it in the order
  // and pieces in which they left the engine; both record how many there were before their
  // recordings began. Where a front-end cannot, tokens count that left the engine after its
  // recording began.
  size_t FirstSeen(const Request& request) const {
    const std::vector<Tokens>& outputs = request.outputs;
    size_t first = 0;
    if (request.front_end_before < 0) {
      while (first < outputs.size() && outputs[first].ts < first_front_end_ns_) ++first;
      return first;
    }
    int64_t had = request.before;
    for (const Tokens& tokens : outputs) had -= tokens.ts < request.before_ns ? tokens.count : 0;
    while (first < outputs.size() && had < request.front_end_before) had += outputs[first++].count;
    return first;
  }

  static int64_t ClientMoment(const Request& request, int64_t ts) {
    const auto sent = std::lower_bound(request.sent.begin(), request.sent.end(), ts);
    return sent == request.sent.end() ? ts : *sent;
  }

  void FinishTimes(Request& request) {
    store::RequestRow& row = request.row;
    const std::string_view reason = request.reason.empty() ? request.engine_reason : request.reason;
    if (!reason.empty()) row.finish_reason = names_.Intern(reason);
    row.name = names_.Intern(request.name);
    if (row.ts <= 0) row.ts = FirstMoment(row);
    if (request.cut_ns >= 0) request.end_ns = request.cut_ns;  // its client may learn of it later
    row.dur = request.end_ns < 0 ? -1 : std::max<int64_t>(request.end_ns - row.ts, 0);
    row.is_whole = static_cast<int16_t>(request.arrived && IsAnswer(request, reason) ? 1 : 0);
    if (row.scheduled_ts >= 0) row.queue_ns = row.scheduled_ts - row.queued_ts;
    if (row.first_token_ts >= 0) {
      row.ttft_ns = row.first_token_ts - row.ts;
      if (row.output_tokens > 1) {
        row.tpot_ns = (row.last_token_ts - row.first_token_ts) / (row.output_tokens - 1);
      }
    }
  }

  // Whether its end is that of an answer, and not because its engine died or the server refused it.
  // Where the front-end recorded only that it answered, the kind of answer is unknown.
  static bool IsAnswer(const Request& request, std::string_view reason) {
    return request.end_ns >= 0 && !reason.empty() && reason != kEngineDied && reason != "error" &&
           !reason.starts_with("refused");
  }

  // Of a request whose begin was not recorded.
  static int64_t FirstMoment(const store::RequestRow& row) {
    for (const int64_t ts :
         {row.tokenized_ts, row.queued_ts, row.scheduled_ts, row.last_token_ts}) {
      if (ts > 0) return ts;
    }
    return 0;
  }

  void NumberRequests() {
    std::vector<std::pair<int64_t, uint64_t>> order;
    for (const auto& [key, request] : requests_) order.emplace_back(request.row.ts, key);
    std::sort(order.begin(), order.end());
    std::map<uint64_t, int32_t> slices;
    for (const auto& [ts, key] : order) {
      Request& request = requests_[key];
      request.row.request_id = static_cast<int32_t>(rows_.requests.size());
      for (const size_t part : request.row_steps) {
        rows_.request_steps[part].request_id = request.row.request_id;
      }
      if (request.row.slice_id >= 0) slices[key] = request.row.slice_id;
      rows_.requests.push_back(request.row);
    }
    const int32_t kind = names_.Intern("request");
    for (const auto& [key, slice] : pending_flows_) {
      const auto from = slices.find(key);
      if (from != slices.end()) AddFlow(kind, key, from->second, slice);
    }
  }

  void JoinRanks(const ServingEvents& part) {
    const int32_t kind = names_.Intern("engine_step");
    for (const ServingFlow& flow : part.flows) {
      if (flow.kind != ServingKind::kStep || flow.out || flow.slice_id < 0) continue;
      const auto step = step_of_key_.find(flow.key);
      if (step == step_of_key_.end()) continue;
      const int32_t from = steps_[step->second].row.slice_id;
      if (from >= 0) AddFlow(kind, flow.key, from, flow.slice_id);
    }
  }

  void AddFlow(int32_t kind, uint64_t key, int32_t out, int32_t in) {
    store::FlowRow row;
    row.flow_id = next_flow_++;
    row.kind = kind;
    row.key = static_cast<int64_t>(key);
    row.slice_out = out;
    row.slice_in = in;
    rows_.flows.push_back(row);
  }

  store::NamePool& names_;
  int32_t next_flow_;
  int32_t prefill_;
  int32_t decode_;
  int64_t first_front_end_ns_ = INT64_MAX;
  ServingRows rows_;
  std::map<uint64_t, Request> requests_;
  std::vector<Step> steps_;
  std::map<uint64_t, size_t> step_of_key_;
  std::map<SliceKey, size_t> step_of_slice_;
  std::map<std::pair<uint64_t, size_t>, size_t> row_of_part_;  // key of request, place of step
  std::map<std::pair<uint64_t, size_t>, int64_t> drafted_;     // the same, for the output to come
  std::map<uint64_t, int32_t> preempted_;
  std::vector<std::pair<uint64_t, int32_t>> pending_flows_;  // key of request, slice of step
};

}  // namespace

ServingRows MakeServingRows(const std::vector<ServingEvents>& parts, int32_t next_flow,
                            store::NamePool& names) {
  return Builder(next_flow, names).Build(parts);
}

Status WriteServingRows(const ServingRows& rows, store::Transaction& transaction) {
  const auto write = [&]<class Row>(const std::vector<Row>& list) -> Status {
    if (list.empty()) return {};
    SONDE_ASSIGN_OR_RETURN(auto writer, store::TableWriter<Row>::Open(transaction));
    for (const Row& row : list) writer.Append(row);
    return writer.Close();
  };
  SONDE_RETURN_IF_ERROR(write(rows.requests));
  SONDE_RETURN_IF_ERROR(write(rows.engine_steps));
  SONDE_RETURN_IF_ERROR(write(rows.request_steps));
  return write(rows.flows);
}

}  // namespace sonde::importers::capture_import
