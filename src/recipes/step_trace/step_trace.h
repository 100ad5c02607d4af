// Step breakdown: how long the device computed, communicated and was free in each step
// (step_trace_time.csv and the table StepTraceTime of analysis.db).
//
// Two rules, both as the peer has them:
//   StepTraceFromTasks     the database's rule, and ours for captures. A step's intervals are those
//                          that start in [step start, step end); nothing is clipped.
//                            computing, communication  length of the union of their intervals
//                            not overlapped            communication minus computing
//                            free                      step envelope minus union; the envelope is
//                                                      [first start, last end] of the intervals
//                            stage                     envelope - bubble
//                            preparing                 first start - host start of the step
//                          Where steps of a device overlap (streams that work on different ones,
//                          calls of a model on several threads), each has its own intervals only.
//   StepTraceFromTimeline  the text rule: sums of the events of the layer "Overlap Analysis" that
//                          start in the step, wherever a trace with that layer is the source.
// Common: bubble = sum of hcom_receive*; overlapped = communication - not overlapped; not
// overlapped and without receive = max(not overlapped - bubble, 0).
// Checked against real captures of both kinds (step_trace_test.cc). The peer computes in doubles of
// epoch microseconds, which quantises stage and preparing to 0.25 us; here all is exact.
// Units: nanoseconds. Pure, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "recipes/intervals.h"
#include "recipes/overlap_analysis/overlap_analysis.h"

namespace sonde::recipes {

struct StepRange {
  int64_t step_id = 0;
  int64_t start_ns = 0;  // of the intervals that count
  int64_t end_ns = 0;
  int64_t host_start_ns = 0;
};

struct StepTraceRow {
  std::optional<int64_t> step_id;  // none: the capture has no steps
  int64_t computing_ns = 0;
  int64_t not_overlapped_ns = 0;
  int64_t overlapped_ns = 0;
  int64_t communication_ns = 0;
  int64_t free_ns = 0;
  int64_t stage_ns = 0;
  int64_t bubble_ns = 0;
  int64_t not_overlapped_without_receive_ns = 0;
  int64_t preparing_ns = 0;
};

// The intervals of one device. `receives` are the communication operations hcom_receive*; each list
// is sorted by start. Without `steps` one row covers everything, preparing counted from
// `first_op_start_ns`. A step in which nothing started gives no row.
struct StepTraceInput {
  std::span<const Interval> computing;
  std::span<const Interval> communication;
  std::span<const Interval> receives;
  std::span<const StepRange> steps;
  int64_t first_op_start_ns = 0;
};
std::vector<StepTraceRow> StepTraceFromTasks(const StepTraceInput& input);

// The same from the finished layer; `first_op_start_ns` as above.
std::vector<StepTraceRow> StepTraceFromTimeline(const Overlap& overlap,
                                                std::span<const Interval> receives,
                                                std::span<const StepRange> steps,
                                                int64_t first_op_start_ns);

}  // namespace sonde::recipes
