// Who launched the work of a device: for every task the call of the host, and the operator around
// it, if there is one. Launches of graphs, and calls on threads without operators, are calls, too.
//
//   call      where an arrow of the trace leads to the task from; without one the operator that the
//             importer names
//   operator  the one that the importer names; without one the innermost around the call
//
// Needs flows, slices, tasks and framework_op of the trace. Cost: linear, once. Pure after it was
// made, any thread; refers to the TraceData.
#pragma once

#include <cstdint>
#include <vector>

#include "recipes/trace/trace_data.h"

namespace sonde::recipes {

class Launches {
 public:
  explicit Launches(const TraceData& data);

  // Slices by place in data.tasks; store::kNone: unknown.
  int32_t CallOf(size_t task) const { return calls_[task]; }
  int32_t OperatorOf(size_t task) const;
  const std::vector<int32_t>& calls() const { return calls_; }

 private:
  const TraceData& data_;
  std::vector<int32_t> calls_;
};

// Calls that give a device work, and how many of them have any in the trace. Calls that only record
// a graph (stream capture), and those within another, do not count; none does in a trace with work
// that nothing ties to calls.
struct LaunchCounts {
  int64_t with_work = 0;
  int64_t total = 0;
};
LaunchCounts CountLaunches(const TraceData& data);

}  // namespace sonde::recipes
