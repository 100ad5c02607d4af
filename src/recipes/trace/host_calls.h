// When the host asked for device work: the calls of the vendor's interface by the number that ties
// them to it.
//
// The reference joins by that number, so that work with two calls counts twice and work without one
// not at all. Traces that have no such calls (of other vendors, of a CPU) have one moment for each
// piece of work: that of the operator that launched it, else its own begin. Refers to the trace.
// LaunchTimes says when work was launched, as the analyses of our own ask it. Pure, any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "recipes/trace/trace_data.h"

namespace sonde::recipes {

// What it reads beside the work itself.
constexpr Needs HostCallNeeds() { return Reads<store::ApiCallRow, store::SliceRow>(); }

class HostCalls {
 public:
  explicit HostCalls(const TraceData& data) : data_(data) {
    for (const store::ApiCallRow& call : data.api_calls) {
      if (call.connection_id >= 0) {
        starts_[call.connection_id].push_back(data.Slice(call.slice_id).ts);
      }
    }
  }

  // Work: a device task or a communication operation. Calls take(begin of the call).
  template <class Work, class Take>
  void ForEach(const Work& work, const Take& take) const {
    if (data_.api_calls.empty()) {
      take(work.launch_slice_id >= 0 ? data_.Slice(work.launch_slice_id).ts : work.ts);
      return;
    }
    const auto found = starts_.find(work.connection_id);
    if (found == starts_.end()) return;
    for (const int64_t ts : found->second) take(ts);
  }

 private:
  const TraceData& data_;
  std::unordered_map<int64_t, std::vector<int64_t>> starts_;
};

// The call is the runtime's where an arrow leads from it to the work, else that of HostCalls.
class LaunchTimes {
 public:
  static constexpr Needs kNeeds = HostCallNeeds() | Reads<store::FlowRow>();
  static constexpr int64_t kUnknown = INT64_MIN;

  explicit LaunchTimes(const TraceData& data) : calls_(data) {
    for (const store::FlowRow& flow : data.flows) {
      if (flow.slice_in >= 0 && flow.slice_out >= 0 && data.Name(flow.kind) == "host_to_device") {
        arrows_.try_emplace(flow.slice_in, data.Slice(flow.slice_out).ts);
      }
    }
  }
  // Begin of the call that launched a task or a communication operation.
  template <class Work>
  int64_t Of(const Work& work) const {
    const auto arrow = arrows_.find(work.slice_id);
    if (arrow != arrows_.end()) return arrow->second;
    int64_t found = kUnknown;
    calls_.ForEach(work, [&](int64_t ts) { found = std::max(found, ts); });
    return found;
  }

 private:
  HostCalls calls_;
  std::unordered_map<int32_t, int64_t> arrows_;
};

}  // namespace sonde::recipes
