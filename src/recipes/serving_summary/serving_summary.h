// How well a server of language models served: latencies, rates, batches, slow requests and why.
//
// Definitions are those of `vllm bench serve`, on the server's side: TTFT from the arrival of a
// request to its first token, TPOT the mean time of its further tokens, ITL the pause between two
// pieces of output (of all requests together; tokens that are sent in one piece have no pause
// between them), E2E from arrival to the end. Quantiles interpolate linearly. Only whole requests
// count (arrival and end recorded, not cut), except for ITL and batches, and for TTFT and queue,
// which requests that still ran at the end have, too. Loop lag is the time before the arrival in
// which its client waited for the front-end's event loop; it is in none of the others. Why a
// request was slow: request_time.h, which has the parts of its time, too. Prefill interference is
// its part of prompts of others. Units: nanoseconds. Pure, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "recipes/engine_step_part/engine_step_part.h"
#include "recipes/request_time/request_time.h"
#include "recipes/trace/device_view.h"
#include "store/result_info.h"
#include "store/row_tables.h"

namespace sonde::recipes {

struct Distribution {
  std::string_view name;
  int64_t count = 0;
  double mean_ns = 0;
  double p50_ns = 0;
  double p90_ns = 0;
  double p99_ns = 0;
  double max_ns = 0;
};

// Engine steps of one composition.
struct BatchKind {
  std::string_view name;
  int64_t steps = 0;
  double mean_requests = 0;
  double mean_tokens = 0;
  double mean_ns = 0;
};

struct ServingSummary {
  int64_t requests = 0;  // that took part in the recording: the sum of the next five
  int64_t whole_requests = 0;
  int64_t cut_requests = 0;      // by the end of their engine, or an error in it
  int64_t refused_requests = 0;  // answered with an error, the engine was not asked
  int64_t open_requests = 0;     // still ran when recording ended
  int64_t earlier_requests = 0;  // had begun before the recording, and ended in it
  int64_t failed_requests = 0;   // whole, but aborted
  int64_t duration_ns = 0;       // first arrival to last end, of whole requests
  int64_t prompt_tokens = 0;     // of whole requests
  int64_t output_tokens = 0;
  int64_t cached_tokens = 0;
  int64_t preemptions = 0;
  int64_t drafts = 0;  // proposals of a speculator, of any number of tokens
  int64_t drafted_tokens = 0;
  int64_t accepted_tokens = 0;
  int64_t engine_steps = 0;
  int64_t step_output_tokens = 0;  // of all engine steps: also those of requests that went on
  int64_t steps_duration_ns = 0;   // begin of the first one to the end of the last
  int64_t max_running = 0;
  int64_t max_waiting = 0;
  double max_kv_cache_usage = 0;
  std::vector<Distribution> latencies;  // TTFT, TPOT, ITL, E2E, queue, loop lag
  std::vector<BatchKind> batches;
  Distribution interference;    // by request
  RequestTimes times;           // of all whole requests
  std::vector<size_t> slowest;  // places in times.requests, the slowest first
  std::vector<StepComparison> step_kinds;

  double PerSecond(int64_t count) const { return Rate(count, duration_ns); }
  double StepTokensPerSecond() const { return Rate(step_output_tokens, steps_duration_ns); }
  // vLLM's: tokens that a step with a proposal gives, and the share that was accepted.
  double AcceptanceLength() const { return drafts > 0 ? 1 + Share(accepted_tokens, drafts) : 0; }
  double AcceptanceShare() const { return Share(accepted_tokens, drafted_tokens); }

 private:
  static double Share(int64_t part, int64_t all) {
    return all > 0 ? static_cast<double>(part) / static_cast<double>(all) : 0;
  }
  static double Rate(int64_t count, int64_t ns) {
    return ns > 0 ? static_cast<double>(count) * 1e9 / static_cast<double>(ns) : 0;
  }
};

// The single times, in nanoseconds, by when they began: requests by their arrival.
struct ServingTimes {
  std::vector<int64_t> ttft, tpot, itl, e2e, queue, loop_lag;
};
// Of requests that arrive, and pauses that end, from begin_ns to end_ns, both included. Uses
// request, request_step and the names.
ServingTimes TimesOf(const store::RowTables& tables, int64_t begin_ns = INT64_MIN,
                     int64_t end_ns = INT64_MAX);

// Uses request, engine_step, request_step, communication_op, step, flow, slice, counter, track and
// the names.
ServingSummary SummariseServing(const store::RowTables& tables, const Objectives& objectives = {});

#define SONDE_COLUMNS_SERVING_SUMMARY(C)                                                   \
  C(section, Text, "", KeyOf("serving_section"), "total, rate, latency, batch, ...")       \
  C(name, Text, "", KeyOf("serving_name"), "of what")                                      \
  C(statistic, Text, "", KeyOf("statistic"), "sum, mean, P50, ...; of a slow request why") \
  C(value, Double, "", kNeither, "in the unit of the row")                                 \
  C(unit, Text, "", kLabel, "of the value")
SONDE_RESULT(ServingRow, kServingSummary, "serving_summary", SONDE_COLUMNS_SERVING_SUMMARY,
             "one number of how well a server of language models served")

void WriteServing(const ServingSummary& summary, store::RowSink& rows);

// Whether there is anything to sum up.
bool HasServing(const store::RowTables& tables);

}  // namespace sonde::recipes
