// The host's launches: calls of the vendor's library, and the tasks that they sent to devices.
//
// Calls of a thread contain each other. A task was launched by the innermost call of an operator
// (node) around its record, within a call of communication or not. The descriptions of an operator
// are in the same call. Memory: the records, in the rows' pool; lists, shapes and kernels that many
// have in common once. One thread. Units: ticks of the host.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "importers/ascend/device_model.h"
#include "importers/ascend_raw/captured.h"
#include "importers/ascend_raw/clock.h"
#include "importers/ascend_raw/dictionary.h"
#include "importers/ascend_raw/framework.h"
#include "importers/ascend_raw/host_records.h"
#include "importers/ascend_raw/list_pool.h"
#include "importers/common/search_from.h"

namespace sonde::importers::raw {

template <class Record>
using Records = base::SpillVector<Record>;

struct Api {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t item = 0;
  uint32_t type = 0;
  uint32_t tid = 0;
  uint32_t order = 0;  // of the records
  uint16_t level = 0;
};

// A task as the host launched it.
struct HostTask {
  const TaskTrack* track = nullptr;
  uint32_t number = 0;  // as in the device's log
  uint32_t batch = 0;
  uint32_t context = kNoContext;
  int32_t type = store::kNone;    // name
  int32_t kernel = store::kNone;  // index of kernels(); none: no operator
  int32_t caller = -1;            // index of apis(): that it is connected to
  int32_t parent = -1;            // of a communication: its call of the communication level
  int32_t transfer = -1;          // of transfers()
  int64_t model_id = -1;
};

// In the order of time; of one moment in that of the records, whose numbers are set.
template <class Record>
void SortByTime(Records<Record>& records, base::SpillPool* pool) {
  base::SpillSteps steps(pool);
  bool is_sorted = true;
  for (size_t i = 0; i < records.size(); ++i) {
    steps.Next();
    records[i].head.number = static_cast<uint32_t>(i);
    is_sorted &= i == 0 || records[i - 1].head.time <= records[i].head.time;
  }
  if (is_sorted) return;
  std::sort(records.begin(), records.end(), [](const Record& a, const Record& b) {
    return a.head.time != b.head.time ? a.head.time < b.head.time : a.head.number < b.head.number;
  });
}

class HostLayer {
 public:
  HostLayer(TraceRows& rows, const Clock& clock, bool is_unique_ids)
      : rows_(rows),
        clock_(clock),
        dictionary_(rows),
        captured_(rows.issues),
        has_unique_ids_(is_unique_ids) {}
  HostLayer(const HostLayer&) = delete;
  HostLayer& operator=(const HostLayer&) = delete;

  // False where nothing is made of the stream. Streams in any order.
  bool Read(const Stream& stream);
  // When all are read: rows of the calls, tasks.
  void Build(int64_t pid);

  const Records<Api>& apis() const { return apis_; }
  // Of an index of apis(): its connection to the tasks that it launched, and its row.
  int64_t IdOf(int32_t api) const { return first_id_ + api; }
  int32_t SliceOf(int32_t api) const { return first_slice_ + api; }
  const Records<HostTask>& tasks() const { return tasks_; }
  const Records<TaskTrack>& tracks() const { return tracks_; }  // of DPUs, too
  const std::vector<ascend::Kernel>& kernels() const { return kernels_; }
  const Records<HcclTask>& transfers() const { return transfers_; }
  // Of the operator's call, null where it has none.
  const HcclOp* OperationOf(int32_t api) const;
  const NodeBasic* BasicOf(int32_t api) const;
  const CopyInfo* CopyOf(const TaskTrack& track) const;
  // The operator's call around another one, itself where there is none.
  int32_t OuterNodeOf(int32_t api) const;
  // The number of the model whose call contains it.
  std::optional<int64_t> ModelAt(const Head& head) const;
  Dictionary& dictionary() { return dictionary_; }
  const Clock& clock() const { return clock_; }
  bool expands_streams() const { return expands_streams_; }

 private:
  // The content of a call: indices, -1 none.
  struct Facts {
    int32_t basic = -1;
    int32_t operation = -1;
    int32_t attributes = -1;
    int32_t contexts = -1;
    int32_t first = -1;  // of an operator: of tensors_; of a call of communication: of transfers_
    int32_t last = -1;
    int32_t kernel = kNotMade;
  };
  static constexpr int32_t kNotMade = -2;
  struct KeptList {
    Head head = {};
    int32_t list = -1;
    int32_t next = -1;  // of the same call
  };
  struct CallKind {  // names
    int32_t name = store::kNone;
    int32_t level = store::kNone;
    int32_t mode = store::kNone;
    int32_t id = store::kNone;
    bool has_number = false;  // instead of the name of its item
    uint32_t number = 0;      // of the kind
  };
  // Of calls that are alike.
  struct KnownCall {
    uint64_t item = 0;
    uint32_t type = 0;
    uint16_t level = 0;
    const CallKind* kind = nullptr;
    int32_t args = store::kNone;
  };
  // Facts of a task's type.
  struct TaskKind {
    int32_t name = store::kNone;
    bool is_compute = false;  // where an operator launched it
    bool is_ffts_plus = false;
    bool is_kernel = false;
    bool is_mix = false;
    bool has_contexts = false;
  };
  struct KernelHash {
    size_t operator()(const ascend::Kernel& kernel) const;
  };
  struct Node {
    uint64_t begin = 0;
    uint64_t end = 0;
    int32_t api = -1;
    int32_t parent = -1;  // index in the thread
  };
  struct Tree {
    Records<Node> nodes;
    mutable size_t last = 0;  // where the last search ended: records come in the order of time
  };

  bool ReadCompact(std::string_view tag, const Stream& stream, bool is_dynamic);
  bool ReadAdditional(std::string_view tag, const Stream& stream);
  void TakeApi(const ApiRecord& record);
  void AddCalls(int64_t pid);
  const KnownCall& KnownOf(const Api& api);
  const CallKind& KindOf(const Api& api);
  int32_t ArgumentsOf(const Api& api, const CallKind& kind);
  void BuildTree();
  // Calls that contain the moment, innermost first: begin < at <= end.
  template <class Take>
  void ForEachOpen(uint32_t tid, uint64_t at, const Take& take) const;
  int32_t OutermostOf(uint16_t level, const Head& head) const;
  int32_t NodeOfBasic(const Head& head) const;
  template <class Record>
  void Link(Records<Record>& records, int32_t index, Facts& facts);
  template <class Record, class Take>
  void Attach(Records<Record>& records, Take&& take);
  void AttachAll();
  // The first makes them where the call has none yet.
  Facts& FactsAt(int32_t api);
  const Facts& FactsOf(int32_t api) const;
  Records<uint32_t> BatchIds();
  const TaskKind& TaskKindOf(const TaskTrack& track);
  bool IsOfOperator(int32_t node);
  void AddTask(const TaskTrack& track, uint32_t batch);
  void AddCompute(HostTask task, int32_t node, const TaskKind& kind);
  void AddCommunication(HostTask task, int32_t node, bool with_kernel);
  int32_t KernelOf(int32_t node, const TaskTrack& track, bool is_communication);
  int32_t KernelOfTrack(const HostTask& task);
  ascend::Kernel KernelOfCaptured(const CapturedOperator& op);
  int32_t Keep(const ascend::Kernel& kernel);
  void SetTensors(const Facts& facts, ascend::Kernel& kernel);
  void SetTexts(std::span<const int32_t> lists, ascend::Kernel& kernel);
  void SetTexts(const std::vector<Tensor>& tensors, ascend::Kernel& kernel);
  template <class Record>
  Records<Record> NoRecords() const {
    return Records<Record>(base::SpillAllocator<Record>(rows_.pool()));
  }

  TraceRows& rows_;
  const Clock& clock_;
  Dictionary dictionary_;
  CapturedGraphs captured_;
  bool has_unique_ids_;
  bool expands_streams_ = false;
  int64_t first_id_ = 0;
  int32_t first_slice_ = 0;
  Records<Api> apis_ = NoRecords<Api>();
  std::map<std::tuple<uint16_t, uint32_t, uint32_t, uint32_t, uint64_t>, uint64_t> open_events_;
  Records<TaskTrack> tracks_ = NoRecords<TaskTrack>();
  Records<NodeBasic> basics_ = NoRecords<NodeBasic>();
  ListPool<Tensor> tensor_lists_;
  Records<KeptList> tensors_ = NoRecords<KeptList>();
  ListPool<uint32_t> id_lists_;
  Records<KeptList> contexts_ = NoRecords<KeptList>();
  Records<HcclOp> operations_ = NoRecords<HcclOp>();
  Records<NodeAttributes> attributes_ = NoRecords<NodeAttributes>();
  Records<HcclTask> transfers_ = NoRecords<HcclTask>();
  Records<CopyInfo> copies_ = NoRecords<CopyInfo>();  // by thread and time
  std::map<std::pair<uint16_t, uint32_t>, CallKind> call_kinds_;
  std::map<std::tuple<int32_t, int32_t, int32_t>, int32_t> arguments_;  // by kind, number, item
  std::unordered_map<uint64_t, int32_t> arguments_of_kind_;             // by kind and item
  std::vector<KnownCall> known_calls_;                                  // some, by hash
  std::unordered_map<uint64_t, TaskKind> task_kinds_;                   // by type
  std::unordered_map<uint32_t, int32_t> core_names_;                    // by type of operators
  std::array<int32_t, 2> state_names_ = {store::kNone, store::kNone};   // of static, dynamic
  std::array<int32_t, 2> hf32_names_ = {store::kNone, store::kNone};    // of no, yes
  std::map<uint32_t, Tree> trees_;                                      // by thread
  Records<int32_t> facts_of_api_ = NoRecords<int32_t>();                // -1: none
  Records<Facts> facts_ = NoRecords<Facts>();
  std::unordered_map<int32_t, ascend::Kernel> texts_of_list_;  // of tensor_lists_
  std::unordered_map<ascend::Kernel, int32_t, KernelHash> number_of_kernel_;
  std::vector<ascend::Kernel> kernels_;
  Records<HostTask> tasks_ = NoRecords<HostTask>();
};

template <class Take>
void HostLayer::ForEachOpen(uint32_t tid, uint64_t at, const Take& take) const {
  const auto tree = trees_.find(tid);
  if (tree == trees_.end()) return;
  const Records<Node>& nodes = tree->second.nodes;
  size_t& last = tree->second.last;
  last = SearchFrom(nodes, last, [at](const Node& node) { return node.begin < at; });
  auto index = static_cast<int32_t>(last) - 1;
  while (index >= 0) {
    const Node& node = nodes[static_cast<size_t>(index)];
    if (at <= node.end) take(node.api);
    index = node.parent;
  }
}

}  // namespace sonde::importers::raw
