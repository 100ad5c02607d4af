#include "recipes/serving_summary/serving_summary.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "base/strings.h"
#include "recipes/request_time/usual.h"

namespace sonde::recipes {
namespace {

using store::EngineStepRow;
using store::RequestRow;
using store::RequestStepRow;

Distribution Describe(std::string_view name, std::vector<int64_t> values) {
  std::sort(values.begin(), values.end());
  Distribution result;
  result.name = name;
  result.count = static_cast<int64_t>(values.size());
  if (values.empty()) return result;
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  result.mean_ns = sum / static_cast<double>(values.size());
  result.p50_ns = QuantileOf(values, 0.5);
  result.p90_ns = QuantileOf(values, 0.9);
  result.p99_ns = QuantileOf(values, 0.99);
  result.max_ns = static_cast<double>(values.back());
  return result;
}

// Pauses between pieces of output, of all requests, by their end; tokens in one piece share its
// moment. Those that end from begin_ns to end_ns count.
std::vector<int64_t> Pauses(std::span<const RequestStepRow> parts, int64_t begin_ns,
                            int64_t end_ns) {
  std::map<int32_t, std::vector<int64_t>> moments;
  for (const RequestStepRow& part : parts) {
    const int64_t ts = part.sent_ts >= 0 ? part.sent_ts : part.output_ts;
    if (part.output_tokens > 0 && ts >= 0) moments[part.request_id].push_back(ts);
  }
  std::vector<std::pair<int64_t, int64_t>> pauses;  // end, length
  for (auto& [request, list] : moments) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    for (size_t i = 1; i < list.size(); ++i) {
      if (list[i] < begin_ns || list[i] > end_ns) continue;
      pauses.emplace_back(list[i], list[i] - list[i - 1]);
    }
  }
  std::sort(pauses.begin(), pauses.end());
  std::vector<int64_t> lengths;
  lengths.reserve(pauses.size());
  for (const auto& [end, length] : pauses) lengths.push_back(length);
  return lengths;
}

enum class Fate : uint8_t { kWhole, kCut, kRefused, kOpen, kEarlier };

Fate FateOf(const RequestRow& row, std::string_view reason) {
  if (row.is_whole != 0) return Fate::kWhole;
  if (reason.starts_with("refused")) return Fate::kRefused;
  if (reason == "engine died" || reason == "error") return Fate::kCut;
  return row.dur < 0 ? Fate::kOpen : Fate::kEarlier;
}

void CountFate(Fate fate, ServingSummary& summary) {
  ++summary.requests;
  switch (fate) {
    case Fate::kWhole:
      ++summary.whole_requests;
      break;
    case Fate::kCut:
      ++summary.cut_requests;
      break;
    case Fate::kRefused:
      ++summary.refused_requests;
      break;
    case Fate::kOpen:
      ++summary.open_requests;
      break;
    case Fate::kEarlier:
      ++summary.earlier_requests;
      break;
  }
}

void Keep(int64_t ns, std::vector<int64_t>& list) {
  if (ns >= 0) list.push_back(ns);
}

void AddRequests(std::span<const RequestRow> requests, const store::RowTables& tables,
                 ServingSummary& summary) {
  int64_t first_ns = INT64_MAX;
  int64_t last_ns = 0;
  for (const RequestRow& row : requests) {
    const std::string_view reason = NameIn(tables, row.finish_reason);
    const Fate fate = FateOf(row, reason);
    CountFate(fate, summary);
    summary.preemptions += row.preemptions;
    if (fate != Fate::kWhole) continue;
    first_ns = std::min(first_ns, row.ts);
    last_ns = std::max(last_ns, row.ts + row.dur);
    summary.prompt_tokens += std::max<int64_t>(row.prompt_tokens, 0);
    summary.cached_tokens += std::max<int64_t>(row.cached_tokens, 0);
    summary.output_tokens += row.output_tokens;
    if (reason == "abort") ++summary.failed_requests;
  }
  if (last_ns > 0) summary.duration_ns = last_ns - first_ns;
  ServingTimes times = TimesOf(tables);
  summary.latencies = {
      Describe("TTFT", std::move(times.ttft)),   Describe("TPOT", std::move(times.tpot)),
      Describe("ITL", std::move(times.itl)),     Describe("E2E", std::move(times.e2e)),
      Describe("Queue", std::move(times.queue)), Describe("Loop lag", std::move(times.loop_lag))};
}

void AddBatches(const std::vector<EngineStep>& steps, ServingSummary& summary) {
  BatchKind kinds[] = {{"prefill only"}, {"decode only"}, {"mixed"}};
  int64_t first_ns = INT64_MAX;
  int64_t last_ns = 0;
  for (const EngineStep& step : steps) {
    const EngineStepRow& row = *step.row;
    first_ns = std::min(first_ns, step.begin_ns);
    last_ns = std::max(last_ns, step.end_ns);
    ++summary.engine_steps;
    summary.step_output_tokens += row.output_tokens;
    summary.drafted_tokens += row.drafted_tokens;
    summary.accepted_tokens += row.accepted_tokens;
    summary.max_running = std::max<int64_t>(summary.max_running, row.running_requests);
    summary.max_waiting = std::max<int64_t>(summary.max_waiting, row.waiting_requests);
    summary.max_kv_cache_usage = std::max(summary.max_kv_cache_usage, row.kv_cache_usage);
    BatchKind& kind = kinds[row.decode_requests == 0 ? 0 : row.prefill_requests == 0 ? 1 : 2];
    ++kind.steps;
    kind.mean_requests += row.prefill_requests + row.decode_requests;
    kind.mean_tokens += row.prefill_tokens + row.decode_tokens;
    kind.mean_ns += static_cast<double>(step.end_ns - step.begin_ns);
  }
  if (!steps.empty()) summary.steps_duration_ns = last_ns - first_ns;
  for (BatchKind& kind : kinds) {
    if (kind.steps == 0) continue;
    const auto steps_of_kind = static_cast<double>(kind.steps);
    kind.mean_requests /= steps_of_kind;
    kind.mean_tokens /= steps_of_kind;
    kind.mean_ns /= steps_of_kind;
    summary.batches.push_back(kind);
  }
}

}  // namespace

bool HasServing(const store::RowTables& tables) {
  return !tables.Rows<RequestRow>().empty() || !tables.Rows<EngineStepRow>().empty();
}

ServingTimes TimesOf(const store::RowTables& tables, int64_t begin_ns, int64_t end_ns) {
  std::vector<const RequestRow*> arrived;
  for (const RequestRow& row : tables.Rows<RequestRow>()) {
    if (row.ts >= begin_ns && row.ts <= end_ns) arrived.push_back(&row);
  }
  std::stable_sort(arrived.begin(), arrived.end(),
                   [](const RequestRow* a, const RequestRow* b) { return a->ts < b->ts; });
  const std::vector<LoopPause> pauses = LoopPauses(tables);
  ServingTimes times;
  for (const RequestRow* row : arrived) {
    const Fate fate = FateOf(*row, NameIn(tables, row->finish_reason));
    if (fate == Fate::kWhole || fate == Fate::kOpen) {
      Keep(row->ttft_ns, times.ttft);
      Keep(row->queue_ns, times.queue);
      times.loop_lag.push_back(WaitBeforeArrival(*row, pauses));
    }
    if (fate != Fate::kWhole) continue;
    Keep(row->tpot_ns, times.tpot);
    times.e2e.push_back(row->dur);
  }
  times.itl = Pauses(tables.Rows<RequestStepRow>(), begin_ns, end_ns);
  return times;
}

ServingSummary SummariseServing(const store::RowTables& tables, const Objectives& objectives) {
  ServingSummary summary;
  AddRequests(tables.Rows<RequestRow>(), tables, summary);
  const std::vector<EngineStep> steps = RunningSteps(tables.Rows<EngineStepRow>());
  AddBatches(steps, summary);
  for (const RequestStepRow& part : tables.Rows<RequestStepRow>()) {
    summary.drafts += part.drafted_tokens > 0 ? 1 : 0;
  }
  summary.times = ExplainRequests(tables, objectives);
  summary.step_kinds = CompareSteps(tables);
  const std::vector<RequestTime>& all = summary.times.requests;
  std::vector<int64_t> interference;
  for (const RequestTime& one : all) {
    interference.push_back(one.whole.parts[RequestPart::kOtherPrefill]);
  }
  summary.interference = Describe("Prefill interference", std::move(interference));
  constexpr size_t kShown = 10;
  summary.slowest.resize(all.size());
  std::iota(summary.slowest.begin(), summary.slowest.end(), size_t{0});
  std::stable_sort(summary.slowest.begin(), summary.slowest.end(),
                   [&](size_t a, size_t b) { return all[a].client_ns > all[b].client_ns; });
  summary.slowest.resize(std::min(all.size(), kShown));
  return summary;
}

}  // namespace sonde::recipes
