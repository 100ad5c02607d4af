// Who launched the work of a device: for every task the call of the host, and the operator around
// it, if there is one. Launches of graphs, and calls on threads without operators, are calls, too.
//
//   call      where an arrow of the trace leads to the task from; without one the operator that the
//             importer names
//   operator  the one that the importer names; without one the innermost around the call, of the
//             kernel of a replayed graph around the launch that captured it (replays.h)
//
// Needs flows, slices, tasks, kinds and framework_op of the trace. Cost: linear, once. Pure after
// it was made, any thread; refers to the TraceData.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "recipes/launch/host_calls.h"
#include "recipes/trace/trace_data.h"

namespace sonde::recipes {

// The arrows of a trace from calls of the host to work of a device.
class WorkArrows {
 public:
  explicit WorkArrows(const TraceData& data);
  // The slice that an arrow leads from to this one; store::kNone: no arrow does.
  int32_t CallOf(int32_t slice_id) const {
    const auto place = static_cast<size_t>(slice_id);
    return slice_id >= 0 && place < calls_.size() ? calls_[place] : store::kNone;
  }

 private:
  std::vector<int32_t> calls_;  // by slice of the work, up to the last that has an arrow
};

class Launches {
 public:
  explicit Launches(const TraceData& data);

  // Slices by place in data.tasks; store::kNone: unknown.
  int32_t CallOf(size_t task) const { return calls_[task]; }
  int32_t OperatorOf(size_t task) const;
  // Whether a graph's replay ran it, and the launch is known that captured it.
  bool IsReplayed(size_t task) const { return !captured_.empty() && captured_[task] >= 0; }
  const std::vector<int32_t>& calls() const { return calls_; }

 private:
  const TraceData& data_;
  std::vector<int32_t> calls_;
  std::vector<int32_t> captured_;
};

// When work was launched: at the begin of the call that an arrow leads from, else of that of
// HostCalls.
class LaunchTimes {
 public:
  static constexpr Needs kNeeds = HostCallNeeds() | Reads<store::FlowRow>();
  static constexpr int64_t kUnknown = INT64_MIN;

  explicit LaunchTimes(const TraceData& data) : data_(data), calls_(data), arrows_(data) {}

  // Work: a device task or a communication operation.
  template <class Work>
  int64_t Of(const Work& work) const {
    const int32_t call = arrows_.CallOf(work.slice_id);
    if (call >= 0) return data_.Slice(call).ts;
    int64_t found = kUnknown;
    calls_.ForEach(work, [&](int64_t ts) { found = std::max(found, ts); });
    return found;
  }

 private:
  const TraceData& data_;
  HostCalls calls_;
  WorkArrows arrows_;
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
