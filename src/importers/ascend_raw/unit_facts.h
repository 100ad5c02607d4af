// The host's records of units outside the device's queues: tasks and instructions of the
// communication unit (ccu_task_info, ccu_group_info, ccu_wait_signal_info), and tasks of a DPU
// (dpu_track, dpu_hccl_info), which are slices of layers of their own. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "importers/ascend_raw/host_layer.h"

namespace sonde::importers::raw {

// The host's facts of an instruction of the communication unit.
struct UnitInstruction {
  uint32_t die = 0;
  uint32_t mask = 0;   // of the channels that it waits for
  uint64_t bytes = 0;  // that a loop moves
};

class UnitFacts {
 public:
  UnitFacts(TraceRows& rows, const Clock& clock) : rows_(rows), clock_(clock) {}
  UnitFacts(const UnitFacts&) = delete;
  UnitFacts& operator=(const UnitFacts&) = delete;

  // False where nothing is made of the stream.
  bool Read(const Stream& stream);
  // When all are read, and the calls are built.
  void Build(HostLayer& host, int64_t pid);

  // Null where the host has no record of it.
  const UnitInstruction* InstructionOf(uint32_t task, uint32_t instruction, bool is_wait) const;
  const uint64_t* ItemOf(uint32_t task) const;  // hash of the task's name

 private:
  struct DpuTask {
    Head head = {};  // its time is the end
    uint64_t begin = 0;
    uint16_t device = 0;  // the upper four bits: its kind
    uint16_t stream = 0;
    uint32_t task = 0;
    bool is_transfer = false;
    uint64_t item = 0;  // of a transfer, like the rest
    uint64_t group = 0;
    uint32_t local_rank = 0;
    uint32_t remote_rank = 0;
    uint64_t bytes = 0;
    uint8_t data_type = 0;
    uint8_t link = 0;
    uint8_t transport = 0;
  };

  void TakeInstruction(std::string_view record, bool is_wait);
  void TakeDpuTask(std::string_view record);
  void TakeDpuTransfer(std::string_view record);
  void AddDpuTask(const DpuTask& task, HostLayer& host, int64_t pid);

  TraceRows& rows_;
  const Clock& clock_;
  std::map<uint32_t, uint64_t> items_;  // by task
  std::map<std::tuple<uint32_t, uint32_t, bool>, UnitInstruction> instructions_;
  std::vector<DpuTask> dpu_tasks_;
};

}  // namespace sonde::importers::raw
