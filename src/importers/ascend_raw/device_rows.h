// Tasks and communication of devices as rows, joined to the calls and operators that launched them.
// One thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "importers/ascend/device_model.h"
#include "importers/ascend_raw/aicpu_communication.h"
#include "importers/ascend_raw/device_layer.h"
#include "importers/ascend_raw/framework.h"
#include "importers/ascend_raw/host_layer.h"
#include "importers/common/step_index.h"

namespace sonde::importers::raw {

class DeviceTables {
 public:
  // The steps of `rows` are there; `framework` may be empty. `pid`: of the process that the devices
  // worked for.
  DeviceTables(TraceRows& rows, HostLayer& host, const FrameworkLayer& framework, int64_t pid)
      : rows_(rows),
        device_(rows),
        host_(host),
        framework_(framework),
        steps_(IndexOfSteps(rows.steps)),
        pid_(pid),
        next_alone_(host.IdOf(static_cast<int32_t>(host.apis().size()))) {}

  // Returns for each task the index of its row, store::kNone where it has none.
  Records<int32_t> Add(const DeviceLayer& layer, const Records<RanTask>& ran,
                       const AiCpuCommunication& launched);
  // When the tasks of all devices are there.
  void Finish();

 private:
  struct Operation {
    int64_t begin = INT64_MAX;  // of its master tasks
    int64_t end = -1;
    int64_t host_time = INT64_MAX;
    int32_t device = store::kNone;
    int64_t rank_size = -1;
    int32_t group = store::kNone;
    std::vector<std::pair<int32_t, const HcclTask*>> transfers;  // by index of rows.tasks
    bool is_warm_up = false;
    int32_t kernel = -1;  // of a fused operator: its kernel, in place of the call's name
    uint64_t group_hash = 0;
    const AiCpuOperation* facts = nullptr;  // the device's facts
  };

  using Part = AiCpuCommunication::Part;
  int32_t AddTask(const DeviceLayer& layer, const RanTask& ran, const Part* part);
  int32_t StreamTrack(const ascend::Place& place);
  const HcclTask* TransferOf(const RanTask& ran, const Part* part) const;
  void SetKind(const DeviceLayer& layer, const RanTask& ran, const HcclTask* transfer,
               ascend::DeviceTask& task);
  void Connect(const HostTask& host, store::DeviceTaskRow& row, bool is_part);
  void AddTransfer(const HcclTask& transfer, int32_t task, int32_t name);
  void AddCopy(const HostTask& host, int32_t slice);
  void TakePart(const DeviceLayer& layer, const HostTask& host, int32_t task);
  // Parts of operations that the AI CPU launched.
  void TakeLaunched(const DeviceLayer& layer, const Records<RanTask>& ran,
                    const Records<int32_t>& rows, const AiCpuCommunication& launched);
  void TakeTime(const DeviceLayer& layer, int32_t task, Operation& op) const;
  std::string NameOf(int32_t caller, const Operation& op, int64_t number);
  void SetFacts(int32_t caller, const Operation& op, ascend::CommunicationOp& row);
  void AddSums(int32_t operation, const Operation& op);
  void AddOperation(int32_t caller, const Operation& op, int64_t number);
  void AddAttributes(const HostTask& host, int32_t slice);
  void AddFlow(int32_t caller, int32_t slice);
  int32_t OperatorOf(int32_t caller);

  TraceRows& rows_;
  ascend::DeviceRows device_;
  HostLayer& host_;
  const FrameworkLayer& framework_;
  StepIndex steps_;
  int64_t pid_;
  int32_t process_ = store::kNone;    // of pid_, once it is needed
  int32_t flow_kind_ = store::kNone;  // name, likewise
  int64_t next_alone_;  // connection of a task that no call launched: one that no call has
  std::map<std::pair<int32_t, int32_t>, int32_t> stream_tracks_;  // by device and stream
  // Of rows.kinds, by their key: kernel, name of another task, type, context, model.
  std::map<std::tuple<int32_t, int32_t, int32_t, uint32_t, int64_t>, int32_t> kinds_;
  // By call and device; of fused operators also by communicator.
  std::map<std::tuple<int32_t, int32_t, uint64_t>, Operation> operations_;
  ascend::TransferSums transfers_;
};

}  // namespace sonde::importers::raw
