// Counters as timelines show them: in the processes of the device tool, under its names and in its
// units (importers/ascend/counter_tables.h); those of a program in its own process.
//
// Built once for a trace, which must outlive it; then pure, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "exporters/format/line_buffer.h"
#include "importers/ascend/counter_tables.h"
#include "recipes/trace/trace_data.h"

namespace sonde::exporters {

class CounterLanes {
 public:
  explicit CounterLanes(const recipes::TraceData& data);

  struct Lane {
    std::string name;  // "HBM 0/Read", as JSON
    int64_t pid = 0;
    std::string value_key;  // {"Read(MB/s)":
    std::string value_end;  // ,"acc_id":3}
    double factor = 1;
    size_t process = SIZE_MAX;  // of processes(); none: that of the program
    bool is_of_module = false;  // memory of a part of CANN, which has a table of its own
  };
  struct Process {
    int64_t pid = 0;
    std::string_view name;
    bool is_device = true;
    int64_t device = 0;
    int64_t sort_index = 0;
  };
  const Lane& Of(const store::CounterRow& counter) const {
    return lanes_[static_cast<size_t>(counter.track_id)];
  }
  const std::vector<Process>& processes() const { return processes_; }

 private:
  void TakeProcessOfSource(const recipes::TraceData& data, const store::TrackRow& track,
                           importers::TimelineCounter& shown);

  int64_t usual_device_;
  std::vector<bool> have_other_rows_;      // by process
  std::vector<std::string_view> unknown_;  // names of processes
  std::vector<Lane> lanes_;                // by track
  std::vector<Process> processes_;
};

// {"Read(MB/s)":1.5}
void AppendCounterValue(const CounterLanes::Lane& lane, double value, LineBuffer& out);

}  // namespace sonde::exporters
