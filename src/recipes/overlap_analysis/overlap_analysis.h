// Overlap analysis: what the device did at each moment (the layer "Overlap Analysis" of
// trace_view.json and the table OVERLAP_ANALYSIS of the profiler database).
//
//   computing      union of the computing tasks
//   communication  union of the communication operations
//   not_overlapped communication minus computing
//   free           [first start, last end] of all of them, minus computing and communication
//
// Each maximal interval is one event. This is the peer's definition; it leaves out of "computing"
// the tasks that work for a communication (names ending in AicpuKernel or AivKernel), which the
// caller does not hand in.
// Checked against the layer in traces of real devices (step_trace_test.cc).
// Units: nanoseconds. Pure, any thread.
#pragma once

#include <string_view>
#include <vector>

#include "recipes/intervals.h"

namespace sonde::recipes {

struct Overlap {
  std::vector<Interval> computing;
  std::vector<Interval> communication;
  std::vector<Interval> not_overlapped;
  std::vector<Interval> free;
};

// Lists in any order; may be empty.
Overlap AnalyseOverlap(std::vector<Interval> computing, std::vector<Interval> communication);

// A task that works for a communication and does not count as computing; on the CPU the calls that
// start collectives (c10d::*).
bool IsCommunicationKernel(std::string_view task_name);

}  // namespace sonde::recipes
