// Communication that a kernel of the AI CPU launched on the device itself (expansion of HCCL, fused
// operators of MC2): assigns tasks to kernels.
//
// The host only knows the kernel, and on which streams communicators work (mc2_comm_info). The AI
// CPU recorded its operations, their first and last tasks, and the payload of each task
// (aicpu.data). Memory: the records. One thread. Units: ticks of the device.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "importers/ascend_raw/device_layer.h"

namespace sonde::importers::raw {

// A communicator whose tasks the AI CPU launches.
struct CommunicationStreams {
  uint64_t group = 0;  // hash
  uint32_t kernel_stream = 0;
  std::vector<uint32_t> streams;  // of its tasks
};

struct AiCpuOperation {
  uint64_t time = 0;
  uint16_t stream = 0;
  HcclOp facts = {};
  uint32_t rank_size = 0;
};
// The first or last task of an operation on its main stream.
struct AiCpuMarker {
  uint64_t time = 0;
  uint16_t kernel_stream = 0;
  TaskPlace place = {};
  bool is_first = false;
};
struct AiCpuTransfer {
  uint64_t time = 0;
  TaskPlace place = {};
  HcclTask facts = {};
};
struct AiCpuRecords {
  std::vector<AiCpuOperation> operations;
  std::vector<AiCpuMarker> markers;
  std::vector<AiCpuTransfer> transfers;
  std::vector<TaskFlip> flips;
};

class AiCpuCommunication {
 public:
  struct Operation {
    size_t kernel = 0;  // index of the device's tasks
    uint64_t begin = 0;
    uint64_t end = 0;
    uint64_t group = 0;                     // hash
    bool is_expanded = false;               // an operation of HCCL, which the host knows
    const AiCpuOperation* facts = nullptr;  // null: unknown
  };
  struct Part {
    size_t operation = 0;
    int64_t plane = -1;
    bool is_main = false;
    const HcclTask* facts = nullptr;  // null: unknown
  };

  AiCpuCommunication(const std::vector<CommunicationStreams>& groups, AiCpuRecords& records)
      : groups_(groups), records_(records) {}

  // `ran`: in the order of begin, joined to the host.
  void Find(const DeviceLayer& device, const Records<RanTask>& ran, const HostLayer& host,
            const store::NamePool& names);

  // Of an index of `ran`; null where it is no part of one.
  const Part* PartOf(size_t task) const {
    const auto found = parts_.find(task);
    return found == parts_.end() ? nullptr : &found->second;
  }
  const std::vector<Operation>& operations() const { return operations_; }

 private:
  using Key = std::tuple<uint16_t, uint32_t, uint32_t>;  // stream, task, batch
  void FindKernels(const Records<RanTask>& ran, const HostLayer& host,
                   const store::NamePool& names);
  void FindTransfers(const DeviceLayer& device, const Records<RanTask>& ran);
  void SetFacts(const Records<RanTask>& ran);
  void SetTimes(const Records<RanTask>& ran);
  void TakeParts(const CommunicationStreams& group, const Records<RanTask>& ran);
  Part PartAt(size_t task, const Operation& op, const CommunicationStreams& group,
              const RanTask& ran);

  const std::vector<CommunicationStreams>& groups_;
  AiCpuRecords& records_;
  std::vector<Operation> operations_;
  std::unordered_map<size_t, Part> parts_;
  std::map<Key, size_t> task_of_key_;                  // on streams of communicators
  std::unordered_map<size_t, const HcclTask*> facts_;  // by task
  std::set<size_t> first_tasks_;
  std::map<uint64_t, uint16_t> main_stream_;  // by group
  std::map<std::pair<uint64_t, uint16_t>, int64_t> planes_;
  std::map<uint64_t, int64_t> next_plane_;
};

}  // namespace sonde::importers::raw
