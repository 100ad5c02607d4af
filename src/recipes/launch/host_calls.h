// When the host asked for device work, as the reference joins it: the calls of the vendor's
// interface by the number that ties them to the work. Analyses of our own ask launch.h.
//
// Work with two calls counts twice and work without one
// not at all. Traces that have no such calls (of other vendors, of a CPU) have one moment for each
// piece of work: that of the operator that launched it, else its own begin. Refers to the trace.
// Pure, any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "recipes/trace/trace_data.h"

namespace sonde::recipes {

// What it reads beside the work itself.
constexpr Needs HostCallNeeds() { return Reads<store::ApiCallRow, store::SliceRow>(); }

class HostCalls {
 public:
  explicit HostCalls(const TraceData& data) : data_(data) {
    starts_.reserve(data.api_calls.size());
    for (const store::ApiCallRow& call : data.api_calls) {
      if (call.connection_id < 0) continue;
      starts_.push_back({call.connection_id, data.Slice(call.slice_id).ts});
    }
    std::ranges::stable_sort(starts_, {}, &Start::connection);
  }

  // Work: a device task or a communication operation. Calls take(begin of the call).
  template <class Work, class Take>
  void ForEach(const Work& work, const Take& take) const {
    if (data_.api_calls.empty()) {
      take(work.launch_slice_id >= 0 ? data_.Slice(work.launch_slice_id).ts : work.ts);
      return;
    }
    const auto found =
        std::ranges::equal_range(starts_, work.connection_id, {}, &Start::connection);
    for (const Start& start : found) take(start.ts);
  }

 private:
  const TraceData& data_;
  struct Start {
    int64_t connection = 0;
    int64_t ts = 0;
  };
  std::vector<Start> starts_;  // by connection, those of one in the order of the table
};

}  // namespace sonde::recipes
