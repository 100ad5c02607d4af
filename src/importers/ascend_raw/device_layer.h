// The work of one device: begin and end of its tasks from its log, joined to the host's launches.
//
// Memory: 32 bytes a record of the log, 48 a task, in the rows' pool. One thread. Units: ticks of
// the device until they become rows.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "importers/ascend_raw/clock.h"
#include "importers/ascend_raw/device_records.h"
#include "importers/ascend_raw/host_layer.h"

namespace sonde::importers::raw {

// A task as the device ran it.
struct RanTask {
  uint64_t begin = 0;
  uint64_t end = 0;
  TaskPlace place = {};
  uint32_t batch = 0;
  uint32_t context = kNoContext;
  uint16_t type = 0;
  bool is_sub_task = false;
  const HostTask* host = nullptr;  // its launch
};

class DeviceLayer {
 public:
  DeviceLayer(TraceRows& rows, const Clock& clock, const Chip& chip, int32_t device)
      : rows_(rows), clock_(clock), chip_(chip), device_(device) {}
  DeviceLayer(const DeviceLayer&) = delete;
  DeviceLayer& operator=(const DeviceLayer&) = delete;

  // False where nothing is made of the stream. `other`: gets records of the scheduler's log without
  // a task.
  using TakeOther = std::function<void(std::string_view record)>;
  bool Read(const Stream& stream, bool expands_streams, const TakeOther& other = {});
  // When all are read: the tasks in the order of their begin.
  Records<RanTask> Join(const HostLayer& host);

  // The firmware's track without flips.
  const std::vector<TrackStep>& steps() const { return steps_; }
  const std::vector<TaskFlip>& flips() const { return flips_; }
  int32_t device() const { return device_; }
  const Chip& chip() const { return chip_; }
  const Clock& clock() const { return clock_; }

 private:
  Records<RanTask> Pair();
  void SortLogs();
  template <class Places>
  void PairIrregular(const Places& places, Records<RanTask>& tasks);
  void PairOf(std::span<const StarsLog* const> begins, std::span<const StarsLog* const> ends,
              Records<RanTask>& tasks);
  void SetBatches(Records<RanTask>& tasks);
  void SetStreams(const HostLayer& host, Records<RanTask>& tasks);
  void SetHosts(const HostLayer& host, Records<RanTask>& tasks);
  template <class Record>
  Records<Record> NoRecords() const {
    return Records<Record>(base::SpillAllocator<Record>(rows_.pool()));
  }

  TraceRows& rows_;
  const Clock& clock_;
  Chip chip_;
  int32_t device_;
  Records<StarsLog> logs_ = NoRecords<StarsLog>();
  std::vector<TaskFlip> flips_;
  std::vector<TrackStep> steps_;
};

}  // namespace sonde::importers::raw
