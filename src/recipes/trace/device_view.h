// The device side of a trace as the deliverables show it: devices, names of communication
// operations in the ecosystem's form, and numbers that tie host calls to device work.
//
// Where the CPU is the device, a process has one device: its number is the local rank (0 where that
// is unknown), its streams are the threads that run operators. docs/reference/deliverables.md
// describes how each file shows it.
// Pure after Make(), any thread; refers to the TraceData it was made of.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "recipes/intervals.h"
#include "recipes/overlap_analysis/overlap_analysis.h"
#include "recipes/step_trace/step_trace.h"
#include "recipes/trace/capture_settings.h"
#include "recipes/trace/trace_data.h"

namespace sonde::recipes {

struct Device {
  int32_t process_id = store::kNone;
  int64_t pid = 0;
  int64_t device_id = 0;
  bool is_cpu = true;
  Overlap overlap;
  std::vector<StepTraceRow> steps;
};

// One row of data.communications as it is shown.
struct CommunicationView {
  std::string name;        // hcom_allReduce__586_0_1
  std::string type;        // hcom_allReduce_
  std::string group_name;  // communicator
  uint64_t group_hash = 0;
  size_t device = 0;  // index of devices
  size_t group = 0;   // index of group_hashes
  size_t lane = 0;    // within the group: operations that run at the same time lie on several
  bool is_p2p = false;
};

struct DeviceView {
  const TraceData* data = nullptr;
  CaptureSettings settings;
  std::vector<Device> devices;
  std::vector<CommunicationView> communications;  // parallel to data.communications
  std::vector<uint64_t> group_hashes;             // in the order of their first operation
  std::vector<size_t> group_lanes;                // number of lanes of each
  std::vector<size_t> device_of_track;            // SIZE_MAX for tracks that are no stream
  // Unique times for flows: the start of the task or operation, moved on by 1 ns where two start
  // together. Parallel to data.tasks and data.communications.
  std::vector<int64_t> task_flow_ns;
  std::vector<int64_t> communication_flow_ns;
  // How long each operation waited for the last rank of its group, where a job computed it
  // (communication/arrivals.h); -1: not known. Parallel to data.communications, or empty.
  std::vector<int64_t> waits_ns;

  // The largest number that the trace itself has: what has none is numbered behind it, and is tied
  // to no call of another one.
  int64_t last_connection = 0;

  // `with_times`: overlap and steps of the devices, too.
  static DeviceView Make(const TraceData& data, bool with_times = true);

  const Device& DeviceOfTask(const store::DeviceTaskRow& task) const {
    return devices[device_of_track[static_cast<size_t>(task.track_id)]];
  }
  int64_t StreamOf(const store::DeviceTaskRow& task) const {
    return data->tracks[static_cast<size_t>(task.track_id)].stream_id;
  }
  // Numbers that tie a task or operation to its host call; unique in the trace, from 1.
  int64_t ConnectionOf(const store::DeviceTaskRow& task) const {
    return task.connection_id >= 0 ? task.connection_id : last_connection + task.task_id + 1;
  }
  int64_t ConnectionOf(const store::CommunicationOpRow& op) const {
    return op.connection_id >= 0 ? op.connection_id
                                 : last_connection + static_cast<int64_t>(data->tasks.size()) +
                                       op.communication_id + 1;
  }
  int64_t EndNs(const store::CommunicationOpRow& op) const {
    return op.dur < 0 ? data->last_ns : op.ts + op.dur;
  }
};

}  // namespace sonde::recipes
