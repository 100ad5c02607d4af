// The summary as one table: a row a number, for csv and for whoever wants it by name.
#include <utility>

#include "recipes/recipe.h"
#include "recipes/serving_summary/serving_summary.h"

namespace sonde::recipes {
namespace {

class Rows {
 public:
  explicit Rows(store::RowSink& sink) : sink_(sink) {}
  void Add(std::string_view section, std::string_view name, std::string_view statistic,
           double value, std::string_view unit) {
    ServingRow{section, name, statistic, value, unit}.Write(sink_);
  }
  void AddCount(std::string_view name, int64_t value) {
    Add("total", name, "sum", static_cast<double>(value), "");
  }
  void AddDistribution(std::string_view section, const Distribution& distribution) {
    const std::pair<std::string_view, double> statistics[] = {
        {"mean", distribution.mean_ns}, {"P50", distribution.p50_ns}, {"P90", distribution.p90_ns},
        {"P99", distribution.p99_ns},   {"max", distribution.max_ns},
    };
    Add(section, distribution.name, "count", static_cast<double>(distribution.count), "");
    for (const auto& [statistic, ns] : statistics) {
      Add(section, distribution.name, statistic, ns / 1e6, "ms");
    }
  }

 private:
  store::RowSink& sink_;
};

void AddTotals(const ServingSummary& summary, Rows& rows) {
  rows.AddCount("requests", summary.requests);
  rows.AddCount("whole requests", summary.whole_requests);
  rows.AddCount("cut requests", summary.cut_requests);
  rows.AddCount("refused requests", summary.refused_requests);
  rows.AddCount("requests still running", summary.open_requests);
  rows.AddCount("requests begun before", summary.earlier_requests);
  rows.AddCount("failed requests", summary.failed_requests);
  rows.AddCount("prompt tokens", summary.prompt_tokens);
  rows.AddCount("cached prompt tokens", summary.cached_tokens);
  rows.AddCount("output tokens", summary.output_tokens);
  rows.AddCount("preemptions", summary.preemptions);
  rows.AddCount("engine steps", summary.engine_steps);
  rows.AddCount("output tokens of engine steps", summary.step_output_tokens);
  rows.AddCount("drafted tokens", summary.drafted_tokens);
  rows.AddCount("accepted draft tokens", summary.accepted_tokens);
  rows.Add("rate", "accepted draft tokens", "share", 100 * summary.AcceptanceShare(), "%");
  rows.Add("rate", "tokens of a drafted step", "mean", summary.AcceptanceLength(), "");
  rows.Add("total", "duration", "sum", static_cast<double>(summary.duration_ns) / 1e9, "s");
  rows.Add("rate", "requests", "mean", summary.PerSecond(summary.whole_requests), "1/s");
  rows.Add("rate", "output tokens", "mean", summary.PerSecond(summary.output_tokens), "1/s");
  rows.Add("rate", "tokens", "mean",
           summary.PerSecond(summary.output_tokens + summary.prompt_tokens), "1/s");
  rows.Add("rate", "output tokens of engine steps", "mean", summary.StepTokensPerSecond(), "1/s");
  rows.Add("batch", "running requests", "max", static_cast<double>(summary.max_running), "");
  rows.Add("batch", "waiting requests", "max", static_cast<double>(summary.max_waiting), "");
  rows.Add("batch", "KV cache use", "max", 100 * summary.max_kv_cache_usage, "%");
}

}  // namespace

void WriteServing(const ServingSummary& summary, store::RowSink& sink) {
  Rows rows(sink);
  AddTotals(summary, rows);
  for (const Distribution& one : summary.latencies) rows.AddDistribution("latency", one);
  for (const BatchKind& kind : summary.batches) {
    rows.Add("batch", kind.name, "steps", static_cast<double>(kind.steps), "");
    rows.Add("batch", kind.name, "mean requests", kind.mean_requests, "");
    rows.Add("batch", kind.name, "mean tokens", kind.mean_tokens, "");
    rows.Add("batch", kind.name, "mean", kind.mean_ns / 1e6, "ms");
  }
  rows.AddDistribution("interference", summary.interference);
  for (const SlowCause& cause : summary.times.causes) {
    const std::string_view part = KeyOfPart(cause.part);
    rows.Add("cause", part, "requests", static_cast<double>(cause.requests), "");
    rows.Add("cause", part, "wait", static_cast<double>(cause.wait_ns) / 1e6, "ms");
    rows.Add("cause", part, "P99", static_cast<double>(cause.p99_ns) / 1e6, "ms");
    rows.Add("cause", part, "P99 without", static_cast<double>(cause.p99_without_ns) / 1e6, "ms");
  }
  for (const size_t place : summary.slowest) {
    const RequestTime& request = summary.times.requests[place];
    const std::string reason = ReasonOf(request);
    rows.Add("slowest", request.name, reason, static_cast<double>(request.client_ns) / 1e6, "ms");
  }
}

namespace {
void RunServingTable(const DeviceView& view, store::RowSink& rows) {
  WriteServing(SummariseServing(*view.data->tables), rows);
}
}  // namespace

extern const Recipe kServingSummaryRecipe;
constexpr Recipe kServingSummaryRecipe = {
    &kServingSummary,
    Reads<store::RequestRow, store::EngineStepRow, store::RequestStepRow, store::CommunicationOpRow,
          store::FlowRow, store::StepRow, store::SliceRow, store::CounterRow>(),
    &RunServingTable};

}  // namespace sonde::recipes
