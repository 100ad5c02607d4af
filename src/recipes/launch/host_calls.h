// When the host asked for device work, as the reference joins it: the calls of the vendor's
// interface by the number that ties them to the work. Analyses of our own ask launch.h.
//
// Work with two calls counts twice and work without one
// not at all. Traces that have no such calls (of other vendors, of a CPU) have one moment for each
// piece of work: that of the operator that launched it, else its own begin. Refers to the trace.
// Pure, any thread.
#pragma once

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

}  // namespace sonde::recipes
