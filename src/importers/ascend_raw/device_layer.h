// What one device did: begin and end of its tasks from its log, joined to what the host launched.
//
// One thread. Units: ticks of the device until they become rows.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string_view>
#include <tuple>
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
  const HostTask* host = nullptr;  // what launched it
};

class DeviceLayer {
 public:
  DeviceLayer(TraceRows& rows, const Clock& clock, const Chip& chip, int32_t device)
      : rows_(rows), clock_(clock), chip_(chip), device_(device) {}

  // False where nothing is made of the stream. `other`: gets records of the scheduler's log that
  // tell no task.
  using TakeOther = std::function<void(std::string_view record)>;
  bool Read(const Stream& stream, bool expands_streams, const TakeOther& other = {});
  // When all are read: the tasks in the order of their begin.
  std::vector<RanTask> Join(HostLayer& host);

  int32_t device() const { return device_; }
  const Chip& chip() const { return chip_; }
  const Clock& clock() const { return clock_; }

 private:
  using Key = std::tuple<uint16_t, uint32_t, uint32_t, uint32_t>;  // stream, task, batch, context

  void SetBatches(std::vector<RanTask>& tasks);
  std::vector<RanTask> Pair();
  void PairOf(const std::vector<const StarsLog*>& begins, const std::vector<const StarsLog*>& ends,
              std::vector<RanTask>& tasks);

  TraceRows& rows_;
  const Clock& clock_;
  Chip chip_;
  int32_t device_;
  std::vector<StarsLog> logs_;
  std::vector<TaskFlip> flips_;
};

}  // namespace sonde::importers::raw
