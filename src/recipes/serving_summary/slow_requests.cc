#include "recipes/serving_summary/slow_requests.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/strings.h"
#include "recipes/finding/finding.h"
#include "recipes/finding/limits.h"

namespace sonde::recipes {
namespace {

using base::Concat;
using store::EngineStepRow;
using store::RequestRow;
using store::RequestStepRow;

std::string Ms(int64_t ns) {
  const int64_t tenths = (ns + 50'000) / 100'000;
  return Concat(std::to_string(tenths / 10), ".", std::to_string(tenths % 10), " ms");
}

// Activity of a request in one step.
struct RequestPart {
  int64_t output_ts = -1;
  int64_t output_tokens = 0;
};

class Explainer {
 public:
  Explainer(const store::RowTables& tables, const std::vector<EngineStep>& steps)
      : tables_(tables), steps_(steps) {
    FindUsualStep();
    for (const RequestStepRow& row : tables.Rows<RequestStepRow>()) {
      parts_[row.request_id][{row.engine, row.step_id}] = {row.output_ts, row.output_tokens};
    }
    CountCommunication();
  }

  SlowRequest Explain(const RequestRow& row) const {
    SlowRequest request;
    request.name = NameIn(tables_, row.name);
    request.e2e_ns = row.dur;
    request.loop_lag_ns = std::max<int64_t>(row.loop_lag_ns, 0);
    const int64_t sent_ts = row.tokenized_ts >= 0 ? row.tokenized_ts : row.queued_ts;
    if (sent_ts >= 0) request.front_end_ns = std::max<int64_t>(sent_ts - row.ts, 0);
    if (row.queued_ts >= 0) {
      request.hand_over_ns = std::max<int64_t>(row.queued_ts - sent_ts, 0);
    }
    // Without a token (embeddings, or it was given up before) its last part lasts to its end.
    const int64_t end_ns = row.ts + row.dur;
    const bool has_token = row.output_tokens > 0 || row.first_token_ts >= 0;
    const int64_t first_ns = has_token ? row.first_token_ts : end_ns;
    if (row.scheduled_ts >= 0) {
      request.queue_ns = std::max<int64_t>(row.queue_ns, 0);
      request.prefill_ns = std::max<int64_t>(first_ns - row.scheduled_ts, 0);
    } else if (row.queued_ts >= 0) {
      request.queue_ns = std::max<int64_t>(end_ns - row.queued_ts, 0);
    }
    request.preemptions = row.preemptions;
    request.prompt_tokens = std::max<int64_t>(row.prompt_tokens, 0);
    request.output_tokens = row.output_tokens;
    AddSteps(row, request);
    request.reason_parts = Reason(request);
    request.reason = FilledText(request.reason_parts[0],
                                {request.reason_parts.begin() + 1, request.reason_parts.end()},
                                Language::kEnglish);
    return request;
  }

 private:
  // Median of steps without prompts.
  void FindUsualStep() {
    std::vector<int64_t> durations;
    for (const EngineStep& step : steps_) {
      if (step.row->prefill_requests == 0) durations.push_back(step.end_ns - step.begin_ns);
    }
    if (durations.empty()) return;
    const auto middle = durations.begin() + static_cast<std::ptrdiff_t>(durations.size() / 2);
    std::nth_element(durations.begin(), middle, durations.end());
    usual_ns_ = *middle;
  }

  // Flows lead from the steps of an engine to those of its ranks: engines number theirs alike.
  std::map<int32_t, int32_t> EnginesOfProcesses() const {
    std::map<int32_t, int32_t> engine_of_slice;
    for (const EngineStepRow& row : tables_.Rows<EngineStepRow>()) {
      engine_of_slice[row.slice_id] = row.engine;
    }
    std::map<int32_t, int32_t> process_of_slice;
    for (const store::StepRow& row : tables_.Rows<store::StepRow>()) {
      process_of_slice[row.slice_id] = row.process_id;
    }
    std::map<int32_t, int32_t> engines;
    for (const store::FlowRow& row : tables_.Rows<store::FlowRow>()) {
      const auto engine = engine_of_slice.find(row.slice_out);
      const auto process = process_of_slice.find(row.slice_in);
      if (engine != engine_of_slice.end() && process != process_of_slice.end()) {
        engines[process->second] = engine->second;
      }
    }
    return engines;
  }

  // Mean over the ranks of a step.
  void CountCommunication() {
    std::map<std::pair<int32_t, int64_t>, std::map<int32_t, int64_t>> sums;  // step, process
    const auto engines = EnginesOfProcesses();
    for (const store::CommunicationOpRow& row : tables_.Rows<store::CommunicationOpRow>()) {
      if (row.step_id < 0 || row.dur <= 0) continue;
      const auto engine = engines.find(row.process_id);
      const int32_t number = engine == engines.end() ? 0 : engine->second;
      sums[{number, row.step_id}][row.process_id] += row.dur;
    }
    for (const auto& [step, processes] : sums) {
      int64_t sum = 0;
      for (const auto& [process, ns] : processes) sum += ns;
      communication_ns_[step] = sum / static_cast<int64_t>(processes.size());
    }
  }

  void AddSteps(const RequestRow& row, SlowRequest& request) const {
    const auto parts = parts_.find(row.request_id);
    if (parts == parts_.end()) return;
    const int64_t begin_ns = row.scheduled_ts >= 0 ? row.scheduled_ts : row.ts;
    const int64_t end_ns = row.last_token_ts >= 0 ? row.last_token_ts : row.ts + row.dur;
    int64_t running_ns = 0;
    int64_t last_end = begin_ns;
    const auto first =
        std::partition_point(steps_.begin(), steps_.end(), [&](const EngineStep& step) {
          return step.row->engine < row.engine ||
                 (step.row->engine == row.engine && step.end_ns <= begin_ns);
        });
    for (auto place = first; place != steps_.end(); ++place) {
      const EngineStep& step = *place;
      if (step.row->engine != row.engine || step.begin_ns >= end_ns) break;
      const int64_t dur = std::min(step.end_ns, end_ns) - std::max(step.begin_ns, begin_ns);
      running_ns += dur;
      last_end = step.end_ns;
      const auto part = parts->second.find({step.row->engine, step.row->step_id});
      const bool takes_part = part != parts->second.end();
      if (takes_part) {
        const auto communication = communication_ns_.find({step.row->engine, step.row->step_id});
        if (communication != communication_ns_.end()) {
          request.communication_ns += communication->second;
        }
        if (step.row->prefill_requests == 0) {
          request.long_step_ns = std::max(request.long_step_ns, dur);
        }
      }
      const bool after_first = row.first_token_ts >= 0 && step.begin_ns >= row.first_token_ts;
      if (after_first && step.row->prefill_requests > 0) {
        request.interference_ns += std::max<int64_t>(dur - (takes_part ? usual_ns_ : 0), 0);
      }
    }
    const int64_t served_ns = std::min(last_end, end_ns) - begin_ns;
    request.host_gap_ns = std::max<int64_t>(served_ns - running_ns, 0);
  }

  // The greatest part that is worth a word; a request without any is long because it is long. A key
  // of finding/texts.inc with its arguments.
  std::vector<std::string> Reason(const SlowRequest& request) const {
    struct Candidate {
      int64_t ns;
      std::vector<std::string> words;
    };
    const auto part = [](std::string_view key, int64_t ns) {
      return Candidate{ns, {Concat("slow_request.", key), Ms(ns)}};
    };
    std::vector<Candidate> candidates = {part("front_end", request.front_end_ns),
                                         part("hand_over", request.hand_over_ns),
                                         part("queue", request.queue_ns),
                                         part("prefill", request.prefill_ns),
                                         part("interference", request.interference_ns),
                                         part("long_step", request.long_step_ns),
                                         part("communication", request.communication_ns),
                                         part("host_gap", request.host_gap_ns),
                                         part("loop_lag", request.loop_lag_ns)};
    candidates[3].words.push_back(std::to_string(request.prompt_tokens));
    candidates[5].words.push_back(Ms(usual_ns_));
    candidates[5].ns -= usual_ns_;
    if (request.preemptions > 0) {
      return {request.preemptions == 1 ? "slow_request.preempted" : "slow_request.preempted_often",
              std::to_string(request.preemptions)};
    }
    const auto greatest =
        std::max_element(candidates.begin(), candidates.end(),
                         [](const Candidate& a, const Candidate& b) { return a.ns < b.ns; });
    const auto least_ns = kReasonShare.value * static_cast<double>(request.e2e_ns);
    if (static_cast<double>(greatest->ns) >= least_ns) return greatest->words;
    return {"slow_request.tokens", std::to_string(request.output_tokens)};
  }

  const store::RowTables& tables_;
  const std::vector<EngineStep>& steps_;
  int64_t usual_ns_ = 0;
  std::map<int32_t, std::map<std::pair<int32_t, int64_t>, RequestPart>> parts_;
  std::map<std::pair<int32_t, int64_t>, int64_t> communication_ns_;  // by engine and step
};

}  // namespace

std::string_view NameIn(const store::RowTables& tables, int32_t id) {
  const auto names = tables.Rows<store::NameRow>();
  return id < 0 || static_cast<size_t>(id) >= names.size() ? std::string_view()
                                                           : names[static_cast<size_t>(id)].name;
}

std::vector<EngineStep> RunningSteps(std::span<const EngineStepRow> rows) {
  std::vector<EngineStep> steps;
  for (const EngineStepRow& row : rows) {
    if (row.dur >= 0) steps.push_back({&row, row.ts, row.ts + row.dur});
  }
  std::stable_sort(steps.begin(), steps.end(), [](const EngineStep& a, const EngineStep& b) {
    return a.row->engine != b.row->engine ? a.row->engine < b.row->engine : a.end_ns < b.end_ns;
  });
  for (size_t i = 1; i < steps.size(); ++i) {
    if (steps[i].row->engine != steps[i - 1].row->engine) continue;
    steps[i].begin_ns = std::max(steps[i].begin_ns, steps[i - 1].end_ns);
  }
  return steps;
}

std::vector<SlowRequest> ExplainRequests(const store::RowTables& tables,
                                         const std::vector<EngineStep>& steps) {
  const Explainer explainer(tables, steps);
  std::vector<SlowRequest> requests;
  for (const RequestRow& row : tables.Rows<RequestRow>()) {
    if (row.is_whole != 0) requests.push_back(explainer.Explain(row));
  }
  return requests;
}

}  // namespace sonde::recipes
