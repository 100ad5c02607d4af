// The summary as one table: a row a number, for csv and for whoever wants it by name.
#include <string>
#include <utility>
#include <vector>

#include "recipes/serving_summary/serving_summary.h"
#include "recipes/tables.h"

namespace sonde::recipes {
namespace {

class Rows {
 public:
  void Add(std::string_view section, std::string_view name, std::string_view statistic,
           double value, std::string_view unit) {
    sections_.emplace_back(section);
    names_.emplace_back(name);
    statistics_.emplace_back(statistic);
    values_.push_back(value);
    units_.emplace_back(unit);
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
  store::ResultTable Table() {
    store::ResultTable table;
    table.AddColumn("section", std::move(sections_));
    table.AddColumn("name", std::move(names_));
    table.AddColumn("statistic", std::move(statistics_));
    table.AddColumn("value", std::move(values_));
    table.AddColumn("unit", std::move(units_));
    return table;
  }

 private:
  std::vector<std::string> sections_;
  std::vector<std::string> names_;
  std::vector<std::string> statistics_;
  std::vector<double> values_;
  std::vector<std::string> units_;
};

void AddTotals(const ServingSummary& summary, Rows& rows) {
  rows.AddCount("requests", summary.requests);
  rows.AddCount("whole requests", summary.whole_requests);
  rows.AddCount("failed requests", summary.failed_requests);
  rows.AddCount("prompt tokens", summary.prompt_tokens);
  rows.AddCount("cached prompt tokens", summary.cached_tokens);
  rows.AddCount("output tokens", summary.output_tokens);
  rows.AddCount("preemptions", summary.preemptions);
  rows.AddCount("engine steps", summary.engine_steps);
  rows.AddCount("output tokens of engine steps", summary.step_output_tokens);
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

store::ResultTable ServingTable(const ServingSummary& summary) {
  Rows rows;
  AddTotals(summary, rows);
  for (const Distribution& one : summary.latencies) rows.AddDistribution("latency", one);
  for (const BatchKind& kind : summary.batches) {
    rows.Add("batch", kind.name, "steps", static_cast<double>(kind.steps), "");
    rows.Add("batch", kind.name, "mean requests", kind.mean_requests, "");
    rows.Add("batch", kind.name, "mean tokens", kind.mean_tokens, "");
    rows.Add("batch", kind.name, "mean", kind.mean_ns / 1e6, "ms");
  }
  rows.AddDistribution("interference", summary.interference);
  for (const SlowRequest& request : summary.slowest) {
    rows.Add("slowest", request.name, request.reason, static_cast<double>(request.e2e_ns) / 1e6,
             "ms");
  }
  return rows.Table();
}

store::ResultTable ServingSummaryTable(const DeviceView& view) {
  return ServingTable(SummariseServing(*view.data->tables));
}

}  // namespace sonde::recipes
