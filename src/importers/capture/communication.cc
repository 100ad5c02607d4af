// Collectives: calls of the framework and the works that carried them out, as communication ops.
#include <algorithm>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"
#include "base/host/json.h"
#include "base/strings.h"
#include "capture/args.h"
#include "importers/capture/trace.h"
#include "importers/common/communication_names.h"
#include "store/table_writer.h"

namespace sonde::importers::capture_import {
namespace {

using capture::ArgType;
using capture::RecordKind;
using common::CollectiveName;
using common::GroupHash;
using common::IsPointToPoint;
using common::NormalCollective;
using store::CommunicationGroupRow;
using store::CommunicationOpRow;

struct RankList {
  std::string json;
  int64_t size = store::kNone;
};

struct CollectiveFacts {
  std::string group = "default_group";
  const RankList* ranks = nullptr;  // nullptr: not known
  std::string data_type;
  std::string backend;
  int64_t bytes = -1;
  int64_t count = -1;
  int64_t peer = -1;
};

// The ranks of groups, once each. Argument sets refer to them by name id; those of older recorders
// hold the numbers.
class RankLists {
 public:
  const RankList* ByName(const Dictionary& dictionary, uint32_t name) {
    const auto [entry, is_new] = by_name_.try_emplace(name);
    RankList& list = entry->second;
    if (is_new) {
      const std::string_view text = dictionary.Name(name);
      const auto document = base::JsonDocument::Parse(text, capture::kKeyGroupRanks);
      if (document.ok() && document->root().IsArray()) {
        list = {std::string(text), static_cast<int64_t>(document->root().Size())};
      }
    }
    return list.size == store::kNone ? nullptr : &list;
  }

  const RankList* FromNumbers(std::span<const std::byte> payload) {
    const auto [entry, is_new] = from_numbers_.try_emplace(std::string(base::AsText(payload)));
    RankList& list = entry->second;
    if (is_new) {
      std::vector<std::string> ranks;
      for (size_t i = 0; i + 8 <= payload.size(); i += 8) {
        ranks.push_back(std::to_string(base::LoadLe<int64_t>(payload.data() + i)));
      }
      list = {base::Concat("[", base::Join(ranks, ", "), "]"), static_cast<int64_t>(ranks.size())};
    }
    return &list;
  }

 private:
  std::unordered_map<uint32_t, RankList> by_name_;
  std::unordered_map<std::string, RankList> from_numbers_;  // by their bytes
};

CollectiveFacts ReadFacts(const Dictionary& dictionary, uint32_t args, RankLists& rank_lists) {
  CollectiveFacts facts;
  if (args >= dictionary.args.size()) return facts;
  ForEachField(dictionary.args[args], [&](const ArgField& field) {
    const std::string_view key = dictionary.Name(field.key);
    const std::span<const std::byte> payload = field.payload;
    std::string_view text = base::AsText(payload);
    if (field.type == ArgType::kName && payload.size() == 4) {
      const auto name = base::LoadLe<uint32_t>(payload.data());
      text = dictionary.Name(name);
      if (key == capture::kKeyGroupRanks) facts.ranks = rank_lists.ByName(dictionary, name);
    }
    if (field.type == ArgType::kText || field.type == ArgType::kName) {
      if (key == capture::kKeyGroupName) facts.group = text;
      if (key == capture::kKeyDtype) facts.data_type = text;
      if (key == capture::kKeyBackend) facts.backend = text;
    } else if (field.type == ArgType::kInt64 && payload.size() == 8) {
      const auto value = base::LoadLe<int64_t>(payload.data());
      if (key == capture::kKeyBytes) facts.bytes = value;
      if (key == capture::kKeyCount) facts.count = value;
      if (key == capture::kKeyPeerRank) facts.peer = value;
    } else if (field.type == ArgType::kInt64Array && key == capture::kKeyGroupRanks) {
      facts.ranks = rank_lists.FromNumbers(payload);
    }
  });
  return facts;
}

struct Operation {
  const Node* work;            // range that took the time
  const Node* call = nullptr;  // of the framework
  std::vector<const Node*> more_works = {};
};

// Gloo implements reduce-scatter by all-reduces: one, or for lists one for each rank.
constexpr std::string_view kReduceScatter = "reducescatter";
constexpr std::string_view kListCall = "c10d::reduce_scatter_";

// Calls without a work yet, by argument set; where a work's set has no call, by type.
class Calls {
 public:
  explicit Calls(const CaptureTrace& trace) : trace_(trace) {
    for (const ThreadStage& stage : trace.stages) {
      for (const Node& node : stage.nodes) {
        if (node.kind == RecordKind::kCollective) calls_.push_back({&node, false});
      }
    }
    std::stable_sort(calls_.begin(), calls_.end(),
                     [](const Call& a, const Call& b) { return a.node->ts < b.node->ts; });
    for (size_t i = 0; i < calls_.size(); ++i) {
      by_args_[calls_[i].node->args].push_back(i);
      by_type_[TypeOf(*calls_[i].node)].push_back(i);
    }
  }

  // The earliest unused call that began before the work and fits.
  const Node* Match(const Node& work) {
    if (work.args != 0) {
      if (const Node* call = MatchIn(by_args_[work.args], work)) return call;
    }
    const std::string type = TypeOf(work);
    if (const Node* call = MatchIn(by_type_[type], work)) return call;
    return type == "allreduce" ? MatchIn(by_type_[std::string(kReduceScatter)], work) : nullptr;
  }

  std::vector<const Node*> Unused() const {
    std::vector<const Node*> nodes;
    for (const Call& call : calls_) {
      if (!call.used) nodes.push_back(call.node);
    }
    return nodes;
  }

  std::string TypeOf(const Node& node) const {
    return NormalCollective(trace_.dictionary.Name(node.name));
  }

 private:
  struct Call {
    const Node* node;
    bool used;
  };
  const Node* MatchIn(std::deque<size_t>& list, const Node& work) {
    while (!list.empty() && calls_[list.front()].used) list.pop_front();
    if (list.empty() || calls_[list.front()].node->ts > work.ts) return nullptr;
    Call& call = calls_[list.front()];
    list.pop_front();
    call.used = true;
    return call.node;
  }

  const CaptureTrace& trace_;
  std::vector<Call> calls_;
  std::unordered_map<uint32_t, std::deque<size_t>> by_args_;
  std::map<std::string, std::deque<size_t>> by_type_;
};

// Works without a call of their own belong to the last reduce-scatter of a list before them.
void JoinWorksOfLists(const CaptureTrace& trace, std::vector<Operation>& operations) {
  const auto name = [&](const Node& node) { return trace.dictionary.Name(node.name); };
  size_t of_list = operations.size();
  std::vector<Operation> joined;
  for (Operation& operation : operations) {
    const bool is_more = operation.call == nullptr && of_list < joined.size() &&
                         NormalCollective(name(*operation.work)) == "allreduce";
    if (is_more) {
      joined[of_list].more_works.push_back(operation.work);
      continue;
    }
    if (operation.call != nullptr) {
      of_list = name(*operation.call) == kListCall ? joined.size() : operations.size();
    }
    joined.push_back(std::move(operation));
  }
  operations = std::move(joined);
}

std::vector<Operation> FindOperations(const CaptureTrace& trace) {
  std::vector<Operation> operations;
  for (const ThreadStage& stage : trace.stages) {
    for (const Node& node : stage.nodes) {
      if (node.kind == RecordKind::kCollectiveWork) operations.push_back({&node});
    }
  }
  const auto by_time = [](const Operation& a, const Operation& b) {
    return a.work->ts < b.work->ts;
  };
  std::stable_sort(operations.begin(), operations.end(), by_time);
  Calls calls(trace);
  for (Operation& operation : operations) operation.call = calls.Match(*operation.work);
  JoinWorksOfLists(trace, operations);
  // A back end that does not report its works: only the call is known.
  for (const Node* call : calls.Unused()) operations.push_back({call, call});
  for (const ThreadStage& stage : trace.stages) {
    for (const Node& node : stage.nodes) {
      if (trace.IsSharedMemoryCollective(node)) operations.push_back({&node, &node});
    }
  }
  std::stable_sort(operations.begin(), operations.end(), by_time);
  return operations;
}

class OperationWriter {
 public:
  OperationWriter(CaptureTrace& trace, const ArgumentTable& arguments)
      : trace_(trace), arguments_(arguments) {}

  CommunicationOpRow Row(const Operation& operation) {
    const Node& node = *operation.work;
    const bool is_shared_memory = trace_.IsSharedMemoryCollective(node);
    const CollectiveFacts facts =
        is_shared_memory ? SharedMemoryFacts(node) : FactsOfWorks(operation);
    const std::string type =
        is_shared_memory ? std::string(SharedMemoryCollective(trace_.dictionary.Name(node.name)))
                         : TypeOf(operation);
    const uint64_t hash = GroupHash(facts.group);
    CommunicationOpRow row;
    row.slice_id = node.slice_id;
    row.process_id = kProcessId;
    row.ts = node.ts;
    row.dur = DurationOf(operation);
    row.name = trace_.names.Intern(CollectiveName(type, hash, index_in_group_[hash]++));
    row.op_type = trace_.names.Intern(type);
    row.group_name = trace_.names.Intern(facts.group);
    row.group_hash = static_cast<int64_t>(hash);
    if (!facts.data_type.empty()) row.data_type = trace_.names.Intern(facts.data_type);
    if (!facts.backend.empty()) row.algorithm = trace_.names.Intern(facts.backend);
    row.count = facts.count;
    row.size_bytes = facts.bytes;
    row.is_p2p = IsPointToPoint(type) ? 1 : 0;
    row.peer_rank = static_cast<int32_t>(std::clamp<int64_t>(facts.peer, -1, INT32_MAX));
    if (facts.ranks != nullptr) row.rank_size = facts.ranks->size;
    row.launch_slice_id = operation.call == nullptr ? store::kNone : operation.call->slice_id;
    const RankList*& ranks = groups_[facts.group];
    if (ranks == nullptr) ranks = facts.ranks;
    return row;
  }

  // One row a group that was used.
  Status WriteGroups(store::Transaction& transaction) {
    SONDE_ASSIGN_OR_RETURN(auto writer,
                           store::TableWriter<CommunicationGroupRow>::Open(transaction));
    for (const auto& [name, ranks] : groups_) {
      CommunicationGroupRow row;
      row.group_hash = static_cast<int64_t>(GroupHash(name));
      row.process_id = kProcessId;
      row.name = trace_.names.Intern(name);
      if (ranks != nullptr) row.rank_list = ranks->json;
      const auto known = trace_.group_descriptions.find(name);
      if (known != trace_.group_descriptions.end()) {
        row.description = trace_.names.Intern(known->second);
      }
      writer.Append(row);
    }
    return writer.Close();
  }

 private:
  CollectiveFacts SharedMemoryFacts(const Node& node) {
    CollectiveFacts facts;
    facts.backend = "shm";
    const std::string_view type = SharedMemoryCollective(trace_.dictionary.Name(node.name));
    if (const auto* group = GroupFor(trace_.shared_memory_groups, IsPointToPoint(type))) {
      facts.group = group->name;
      facts.ranks = rank_lists_.FromNumbers(std::as_bytes(std::span(group->ranks)));
    }
    const int32_t signature = arguments_.SignatureId(node.args);
    if (signature < 0) return facts;
    const auto& inputs = arguments_.Signature(signature);
    const Payload payload = PayloadOf(Text(inputs.input_shapes), Text(inputs.input_types));
    facts.bytes = payload.bytes;
    facts.count = payload.count;
    facts.data_type = payload.data_type;
    return facts;
  }

  // The call has the program's request; the work shows how it was carried out.
  std::string TypeOf(const Operation& operation) const {
    std::string type = NormalCollective(trace_.dictionary.Name(operation.work->name));
    if (operation.call == nullptr) return type;
    const std::string asked = NormalCollective(trace_.dictionary.Name(operation.call->name));
    return asked == kReduceScatter ? asked : type;
  }

  // From the begin of the first work to the last end; -1 where one has not ended.
  static int64_t DurationOf(const Operation& operation) {
    const int64_t begin = operation.work->ts;
    int64_t dur = operation.work->DurNs();
    for (const Node* work : operation.more_works) {
      if (dur < 0 || work->DurNs() < 0) return -1;
      dur = std::max(dur, work->ts + work->DurNs() - begin);
    }
    return dur;
  }

  // The set of the call, where the first work has it, applies to all works.
  CollectiveFacts FactsOfWorks(const Operation& operation) {
    CollectiveFacts facts = Facts(operation.work->args);
    const bool is_of_call =
        operation.call != nullptr && operation.call->args == operation.work->args;
    if (is_of_call || facts.bytes < 0) return facts;
    for (const Node* work : operation.more_works) {
      const CollectiveFacts& more = Facts(work->args);
      facts.bytes += std::max<int64_t>(more.bytes, 0);
      facts.count += std::max<int64_t>(more.count, 0);
    }
    return facts;
  }

  std::string_view Text(int32_t name) const {
    return name < 0 ? std::string_view() : trace_.names.Text(name);
  }

  const CollectiveFacts& Facts(uint32_t args) {
    const auto known = facts_.find(args);
    if (known != facts_.end()) return known->second;
    return facts_.emplace(args, ReadFacts(trace_.dictionary, args, rank_lists_)).first->second;
  }

  CaptureTrace& trace_;
  const ArgumentTable& arguments_;
  std::unordered_map<uint32_t, CollectiveFacts> facts_;
  std::unordered_map<uint64_t, int64_t> index_in_group_;
  RankLists rank_lists_;
  std::map<std::string, const RankList*> groups_;  // by name
};

// Completes a kernel's facts of its collective by those of the call.
void TakeFacts(const CommunicationOpRow& call, CommunicationOpRow& kernel) {
  CommunicationOpRow row = call;
  row.slice_id = kernel.slice_id;
  row.device_id = kernel.device_id;
  row.ts = kernel.ts;
  row.dur = kernel.dur;
  row.connection_id = kernel.connection_id;
  row.step_id = kernel.step_id;
  kernel = row;
}

}  // namespace

Result<int64_t> WriteCommunication(CaptureTrace& trace, const ArgumentTable& arguments,
                                   const std::vector<StepRange>& steps,
                                   store::Transaction& transaction) {
  SONDE_ASSIGN_OR_RETURN(auto table, store::TableWriter<CommunicationOpRow>::Open(transaction));
  std::vector<CommunicationOpRow> rows = DeviceOperations(trace, steps);
  std::map<int32_t, size_t> on_device;  // by the framework's call: the first one that it launched
  for (size_t i = 0; i < rows.size(); ++i) on_device.try_emplace(rows[i].launch_slice_id, i);
  OperationWriter writer(trace, arguments);
  StepCursor step(steps);
  for (const Operation& operation : FindOperations(trace)) {
    const bool is_call = operation.call == operation.work;
    const auto done = is_call ? on_device.find(operation.call->slice_id) : on_device.end();
    if (done != on_device.end()) {
      const bool is_complete = rows[done->second].group_name != store::kNone;
      if (!is_complete) TakeFacts(writer.Row(operation), rows[done->second]);
      continue;
    }
    CommunicationOpRow row = writer.Row(operation);
    row.step_id = step.At(row.ts, store::kNone);
    rows.push_back(row);
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.ts < b.ts; });
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].communication_id = static_cast<int32_t>(i);
    table.Append(rows[i]);
  }
  SONDE_RETURN_IF_ERROR(table.Close());
  SONDE_RETURN_IF_ERROR(writer.WriteGroups(transaction));
  return static_cast<int64_t>(rows.size());
}

}  // namespace sonde::importers::capture_import
