// What the host launched: calls of the vendor's library, and the tasks that they sent to devices.
//
// Calls of a thread contain each other. A task was launched where its record lies: by the innermost
// call of an operator (node), within a call of communication or not. The descriptions of an
// operator lie in the same call. One thread. Units: ticks of the host.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "importers/ascend/device_model.h"
#include "importers/ascend_raw/clock.h"
#include "importers/ascend_raw/dictionary.h"
#include "importers/ascend_raw/framework.h"
#include "importers/ascend_raw/host_records.h"

namespace sonde::importers::raw {

struct Api {
  ApiRecord record = {};
  uint64_t begin = 0;
  uint64_t end = 0;
  int64_t id = -1;  // ties it to the tasks that it launched
  int32_t slice = store::kNone;
};

// A task as the host sent it off.
struct HostTask {
  const TaskTrack* track = nullptr;
  uint32_t batch = 0;
  uint32_t context = kNoContext;
  int32_t type = store::kNone;    // name
  int32_t kernel = store::kNone;  // index of kernels(); none: no operator
  int32_t caller = -1;            // index of apis(): that it is connected to
  int32_t parent = -1;            // of a communication: its call of the communication level
  int32_t transfer = -1;          // of transfers()
  int64_t model_id = -1;
};

class HostLayer {
 public:
  HostLayer(TraceRows& rows, const Clock& clock, bool is_unique_ids)
      : rows_(rows), clock_(clock), dictionary_(rows), has_unique_ids_(is_unique_ids) {}

  // False where nothing is made of the stream. Streams in any order.
  bool Read(const Stream& stream);
  // When all are read: rows of the calls, tasks.
  void Build(int64_t pid);

  const std::vector<Api>& apis() const { return apis_; }
  std::vector<HostTask>& tasks() { return tasks_; }
  const std::vector<ascend::Kernel>& kernels() const { return kernels_; }
  const std::vector<HcclTask>& transfers() const { return transfers_; }
  // Of the operator's call, null where it has none.
  const HcclOp* OperationOf(int32_t api) const;
  const NodeBasic* BasicOf(int32_t api) const;
  const CopyInfo* CopyOf(const TaskTrack& track) const;
  Dictionary& dictionary() { return dictionary_; }
  const Clock& clock() const { return clock_; }
  bool expands_streams() const { return expands_streams_; }

 private:
  struct NodeFacts {  // indices, -1 none
    int32_t basic = -1;
    int32_t operation = -1;
    int32_t contexts = -1;
    std::vector<int32_t> tensors;
  };
  struct CallFacts {  // of a call of the communication level
    int32_t contexts = -1;
    std::vector<int32_t> transfers;
  };
  struct Node {
    uint64_t begin = 0;
    uint64_t end = 0;
    int32_t api = -1;
    int32_t parent = -1;  // index in the thread
  };
  using OnStream = std::pair<uint16_t, uint16_t>;  // device, stream

  bool ReadCompact(std::string_view tag, const Stream& stream, bool is_dynamic);
  bool ReadAdditional(std::string_view tag, const Stream& stream);
  void TakeApi(const ApiRecord& record);
  void AddCalls(int64_t pid);
  int32_t ArgumentsOf(const ApiRecord& record);
  void BuildTree();
  // Calls that contain the moment, innermost first: begin < at <= end.
  void ForEachOpen(uint32_t tid, uint64_t at, const std::function<void(int32_t api)>& take) const;
  int32_t OutermostOf(uint16_t level, const Head& head) const;
  int32_t NodeOfBasic(const Head& head) const;
  template <class Record, class Take>
  void Attach(std::vector<Record>& records, Take&& take);
  void AttachAll();
  std::vector<uint32_t> BatchIds();
  void AddTask(const TaskTrack& track, uint32_t batch);
  void AddCompute(HostTask task, int32_t node, bool is_communication);
  void AddCommunication(HostTask task, int32_t node, bool with_kernel);
  int32_t KernelOf(int32_t node, const TaskTrack& track, bool is_communication);
  int32_t KernelOfTrack(const TaskTrack& track);
  void SetTensors(const NodeFacts& facts, ascend::Kernel& kernel);

  TraceRows& rows_;
  const Clock& clock_;
  Dictionary dictionary_;
  bool has_unique_ids_;
  bool expands_streams_ = false;
  std::vector<Api> apis_;
  std::map<std::tuple<uint16_t, uint32_t, uint32_t, uint32_t, uint64_t>, uint64_t> open_events_;
  std::vector<TaskTrack> tracks_;
  std::vector<NodeBasic> basics_;
  std::vector<TensorInfo> tensors_;
  std::vector<ContextIds> contexts_;
  std::vector<HcclOp> operations_;
  std::vector<HcclTask> transfers_;
  std::vector<CopyInfo> copies_;
  std::map<std::tuple<int32_t, int32_t, int32_t>, int32_t> arguments_;  // by kind, number, item
  std::map<uint32_t, std::vector<Node>> trees_;                         // by thread
  std::unordered_map<int32_t, NodeFacts> node_facts_;
  std::unordered_map<int32_t, CallFacts> call_facts_;
  std::unordered_map<int32_t, int32_t> kernel_of_node_;
  std::map<std::pair<uint32_t, uint64_t>, int32_t> copy_of_moment_;  // thread, time
  std::vector<ascend::Kernel> kernels_;
  std::vector<HostTask> tasks_;
};

}  // namespace sonde::importers::raw
