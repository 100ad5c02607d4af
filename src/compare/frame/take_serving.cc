#include <algorithm>

#include "compare/frame/side.h"
#include "recipes/request_time/request_time.h"
#include "recipes/serving_summary/serving_summary.h"

namespace sonde::compare {
namespace {

void Add(std::string_view measure, const std::vector<int64_t>& times_ns, Side& side) {
  if (times_ns.empty()) return;
  ServingValues& one = side.serving.emplace_back();
  one.measure = measure;
  one.unit = "ms";
  for (const int64_t ns : times_ns) one.values.push_back(static_cast<double>(ns) / 1e6);
}

constexpr std::string_view kPartMeasures[] = {
#define SONDE_REQUEST_PART(part, key, meaning) std::string_view("part " #key),
    SONDE_REQUEST_PARTS(SONDE_REQUEST_PART)
#undef SONDE_REQUEST_PART
};

// The parts of the time of whole requests, which add up: where a change of E2E comes from.
void AddParts(const recipes::TraceData& data, const Window& window, Side& side) {
  std::vector<recipes::RequestTime> requests = recipes::ExplainRequests(*data.tables).requests;
  std::erase_if(requests, [&](const auto& one) { return !window.Has(one.row->ts); });
  std::stable_sort(requests.begin(), requests.end(),
                   [](const auto& a, const auto& b) { return a.row->ts < b.row->ts; });
  for (size_t i = 0; i < recipes::kRequestParts; ++i) {
    std::vector<int64_t> times_ns;
    for (const auto& one : requests) times_ns.push_back(one.whole.parts.ns[i]);
    Add(kPartMeasures[i], times_ns, side);
  }
}

}  // namespace

void TakeServing(const recipes::TraceData& data, Side& side) {
  if (data.tables == nullptr || !recipes::HasServing(*data.tables)) return;
  const Window& window = side.window;
  const recipes::ServingTimes times =
      recipes::TimesOf(*data.tables, window.begin_ns, window.end_ns);
  Add("TTFT", times.ttft, side);
  Add("TPOT", times.tpot, side);
  Add("ITL", times.itl, side);
  Add("E2E", times.e2e, side);
  Add("queue", times.queue, side);
  std::vector<const store::EngineStepRow*> steps;
  for (const store::EngineStepRow& step : data.tables->Rows<store::EngineStepRow>()) {
    if (step.dur >= 0 && window.Has(step.ts)) steps.push_back(&step);
  }
  std::stable_sort(steps.begin(), steps.end(), [](const auto* a, const auto* b) {
    return a->ts < b->ts;  // engines side by side
  });
  ServingValues batches{.measure = "batch", .unit = "requests", .values = {}};
  std::vector<int64_t> steps_ns;
  for (const store::EngineStepRow* step : steps) {
    batches.values.push_back(step->prefill_requests + step->decode_requests);
    steps_ns.push_back(step->dur);
  }
  Add("engine step", steps_ns, side);
  if (!batches.values.empty()) side.serving.push_back(std::move(batches));
  AddParts(data, window, side);
}

}  // namespace sonde::compare
