// Collectives: kernels of the device that carry them out, or the host's calls where there are none.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/host/json.h"
#include "base/strings.h"
#include "importers/ascend/groups.h"
#include "importers/common/communication_names.h"
#include "importers/common/kernel_name.h"
#include "importers/kineto/trace.h"
#include "store/collectives.h"
#include "store/table_writer.h"

namespace sonde::importers::kineto {
namespace {

using common::CollectiveName;
using common::GroupHash;
using common::IsPointToPoint;
using common::KernelCollective;
using common::NormalCollective;
using trace_events::EventStage;
using trace_events::StagedSlice;

// As torch names types; files that Sonde made of an Ascend set have the names of its library.
int64_t BytesOfType(std::string_view type) {
  static constexpr std::array<std::pair<std::string_view, int64_t>, 22> kSizes = {{
      {"Byte", 1},
      {"Char", 1},
      {"Bool", 1},
      {"Float8_e4m3fn", 1},
      {"Float8_e5m2", 1},
      {"Float8_e4m3fnuz", 1},
      {"Float8_e5m2fnuz", 1},
      {"Float8_e8m0fnu", 1},
      {"QInt8", 1},
      {"QUInt8", 1},
      {"Half", 2},
      {"BFloat16", 2},
      {"Short", 2},
      {"UInt16", 2},
      {"Float", 4},
      {"Int", 4},
      {"UInt32", 4},
      {"ComplexHalf", 4},
      {"Double", 8},
      {"Long", 8},
      {"UInt64", 8},
      {"ComplexFloat", 8},
  }};
  for (const auto& [name, size] : kSizes) {
    if (name == type) return size;
  }
  return importers::ElementBytes(type);
}

// The number at a place of "[11, 12, 13, 14]", whose sum is `sum`; nothing for any other list.
std::optional<int64_t> NumberOfSplit(std::string_view list, size_t place, int64_t sum) {
  if (!list.starts_with('[') || !list.ends_with(']')) return std::nullopt;
  const auto parts = base::Split(list.substr(1, list.size() - 2), ',');
  std::optional<int64_t> found;
  int64_t rest = sum;
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto number = base::ParseInt64(base::Trim(parts[i]));
    if (!number || *number < 0 || *number > rest) return std::nullopt;
    rest -= *number;
    if (i == place) found = number;
  }
  return rest == 0 ? found : std::nullopt;
}

// In the terms of the library: "ncclAllReduce 12", the 13th of its kind in the group.
std::string NcclName(std::string_view type, int64_t index) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kNames = {{
      {"allreduce", "AllReduce"},
      {"allgather", "AllGather"},
      {"reducescatter", "ReduceScatter"},
      {"broadcast", "Broadcast"},
      {"alltoall", "AllToAll"},
      {"sendrecv", "SendRecv"},
      {"reduce", "Reduce"},
  }};
  std::string_view name = type;
  for (const auto& [plain, shown] : kNames) {
    if (plain == type) name = shown;
  }
  return base::Concat("nccl", name == type ? "_" : "", name, " ", std::to_string(index));
}

bool NamesCommunicatingOperator(const KinetoTrace& trace) {
  for (size_t id = 0; id < trace.names().size(); ++id) {
    if (!store::OperatorCollective(trace.NameOf(static_cast<int32_t>(id))).empty()) return true;
  }
  return false;
}

// What a call of the host communicates itself; "" where it moves nothing, or only waits.
std::string HostCollective(const KinetoTrace& trace, int32_t id) {
  if (trace.ClassAt(id) != SliceClass::kOp) return {};
  const auto collective = trace.stage().Captured(id, kCollective);
  if (!collective) return std::string(store::OperatorCollective(trace.NameAt(id)));
  const std::string_view name = trace.NameOf(static_cast<int32_t>(*collective));
  return name == "wait" || name == "init" ? std::string() : NormalCollective(name);
}

class Writer {
 public:
  explicit Writer(const KinetoTrace& trace) : trace_(trace), stage_(trace.stage()) {}

  store::CommunicationOpRow Row(int32_t id, bool on_device) {
    const StagedSlice& slice = stage_.Slice(id);
    const std::string type = on_device ? DeviceCollective(trace_, id) : HostCollective(trace_, id);
    std::string group(Text(id, kGroupName));
    if (group.empty()) group = "default_group";
    const uint64_t hash = GroupHash(group);
    store::CommunicationOpRow row;
    row.communication_id = next_id_++;
    row.slice_id = id;
    row.process_id = trace_.ProcessId(id);
    row.device_id = stage_.TrackOf(slice).device_id;
    row.ts = slice.ts;
    row.dur = slice.dur;
    const int64_t index = index_in_group_[hash]++;
    row.name = trace_.names().Intern(on_device ? NcclName(type, index)
                                               : CollectiveName(type, hash, index));
    row.op_type = trace_.names().Intern(type);
    row.group_name = trace_.names().Intern(group);
    row.group_hash = static_cast<int64_t>(hash);
    const auto data_type = stage_.Captured(id, kDataType);
    row.data_type = static_cast<int32_t>(data_type.value_or(store::kNone));
    row.count = stage_.Captured(id, kInElements).value_or(store::kNone);
    const int64_t element = BytesOfType(trace_.NameOf(row.data_type));
    const bool fits = row.count >= 0 && row.count < (int64_t{1} << 56);
    if (fits && element > 0) {
      row.size_bytes = row.count * element;
      const int64_t kept = KeptElements(id, row.count);
      row.kept_bytes = kept < 0 ? store::kNone : kept * element;
    }
    row.is_p2p = IsPointToPoint(type) ? 1 : 0;
    const auto peer = stage_.Captured(id, type == "send" ? kTargetRank : kSourceRank);
    if (row.is_p2p == 1 && peer && *peer <= INT32_MAX && *peer >= 0) {
      row.peer_rank = static_cast<int32_t>(*peer);
    }
    row.rank_size = stage_.Captured(id, kGroupSize).value_or(store::kNone);
    if (on_device) {
      const KinetoTrace::Launch launch = trace_.LaunchOf(id);
      row.step_id = trace_.StepOfWork(id, launch);
      row.launch_slice_id = launch.op;
    } else {
      row.step_id = trace_.StepAt(id, slice.ts);
      row.launch_slice_id = id;
    }
    row.connection_id = stage_.Captured(id, kCorrelation).value_or(store::kNone);
    row.algorithm = trace_.names().Intern(on_device ? "nccl" : "gloo");
    groups_.try_emplace(group, Text(id, kGroupDescription), Text(id, kGroupRanks));
    return row;
  }

  // What an uneven all-to-all leaves on this rank; -1: the splits are not known.
  int64_t KeptElements(int32_t id, int64_t sum) const {
    const std::string_view splits = Text(id, kInSplit);
    const std::string_view ranks = Text(id, kGroupRanks);
    if (splits.size() <= 2 || stage_.rank() < 0) return store::kNone;
    const auto list = base::JsonDocument::Parse(ranks, "ranks");
    if (!list.ok()) return store::kNone;
    size_t place = 0;
    for (const base::JsonValue rank : list->root().Elements()) {
      const auto number = rank.AsInt();
      if (number.ok() && *number == stage_.rank()) {
        return NumberOfSplit(splits, place, sum).value_or(store::kNone);
      }
      ++place;
    }
    return store::kNone;
  }

  // Those of the file's list, then those that only operations name.
  Status WriteGroups(store::Transaction& transaction) {
    TakeListedGroups();
    SONDE_ASSIGN_OR_RETURN(auto writer,
                           store::TableWriter<store::CommunicationGroupRow>::Open(transaction));
    for (const auto& [name, facts] : groups_) {
      store::CommunicationGroupRow row;
      row.group_hash = static_cast<int64_t>(GroupHash(name));
      row.name = trace_.names().Intern(name);
      if (!facts.first.empty()) row.description = trace_.names().Intern(facts.first);
      row.rank_list = facts.second;
      writer.Append(row);
    }
    return writer.Close();
  }

 private:
  std::string_view Text(int32_t id, Key key) const {
    const auto text = stage_.Captured(id, key);
    return text ? trace_.NameOf(static_cast<int32_t>(*text)) : std::string_view();
  }

  void TakeListedGroups() {
    for (const auto& [key, value] : stage_.metadata()) {
      if (key != "distributedInfo") continue;
      const auto document = base::JsonDocument::Parse(value, key);
      if (!document.ok()) return;
      for (const base::JsonValue group : document->root()["pg_config"].Elements()) {
        const auto name = group.GetString("pg_name", "");
        const auto description = group.GetString("pg_desc", "");
        if (!name.ok() || name->empty()) continue;
        groups_.insert_or_assign(
            *name, std::pair(description.ok() ? *description : "", group["ranks"].Dump()));
      }
    }
  }

  const KinetoTrace& trace_;
  const EventStage& stage_;
  int32_t next_id_ = 0;
  std::map<uint64_t, int64_t> index_in_group_;
  std::map<std::string, std::pair<std::string, std::string>> groups_;  // description, ranks
};

// "c10d::alltoall_base_", "nccl:all_to_all" -> "alltoall"; "" for what is no call of a collective.
std::string CollectiveOfCall(std::string_view name) {
  constexpr std::string_view kPrefixes[] = {
      "c10d::", "_c10d_functional::", "nccl:", "rccl:", "xccl:"};
  const bool fits = std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                                [&](std::string_view prefix) { return name.starts_with(prefix); });
  if (!fits) return {};
  constexpr std::string_view kTypes[] = {
      "allreduce", "allgather", "reducescatter", "broadcast", "reduce",  "alltoall", "alltoallv",
      "gather",    "scatter",   "barrier",       "send",      "receive", "coalesced"};
  const std::string type = NormalCollective(name.substr(0, name.find(' ')));
  return std::find(std::begin(kTypes), std::end(kTypes), type) != std::end(kTypes) ? type : "";
}

// What the host asked for around the launch of a kernel.
struct Asked {
  std::string type;
  bool of_operator = false;  // of one that launches nothing else
};
Asked AskedFor(const KinetoTrace& trace, int32_t slice_id) {
  const KinetoTrace::Launch launch = trace.LaunchOf(slice_id);
  const int32_t begin = launch.call >= 0 ? launch.call : launch.op;
  for (int32_t slice = begin; slice >= 0; slice = trace.stage().Parent(slice)) {
    const std::string_view name = trace.NameAt(slice);
    if (const std::string_view type = store::OperatorCollective(name); !type.empty()) {
      return {std::string(type), true};
    }
    const auto named = trace.stage().Captured(slice, kCollective);
    if (named) return {NormalCollective(trace.NameOf(static_cast<int32_t>(*named))), false};
    if (std::string type = CollectiveOfCall(name); !type.empty()) return {std::move(type), false};
  }
  return {};
}

}  // namespace

std::string DeviceCollective(const KinetoTrace& trace, int32_t slice_id) {
  if (trace.ClassAt(slice_id) != SliceClass::kKernel) return {};
  const auto named = trace.stage().Captured(slice_id, kCollective);
  if (named) return NormalCollective(trace.NameOf(static_cast<int32_t>(*named)));
  const std::string by_name = KernelCollective(trace.NameAt(slice_id));
  const Asked asked = AskedFor(trace, slice_id);
  if (asked.of_operator || !by_name.empty()) return asked.type.empty() ? by_name : asked.type;
  return {};
}

Result<int64_t> WriteCommunication(const KinetoTrace& trace, store::Transaction& transaction) {
  SONDE_ASSIGN_OR_RETURN(auto table,
                         store::TableWriter<store::CommunicationOpRow>::Open(transaction));
  Writer writer(trace);
  int64_t count = 0;
  base::SpillSteps steps(trace.stage().pool());
  if (!trace.device_work().empty()) {
    const bool has_operators = NamesCommunicatingOperator(trace);
    std::map<std::pair<int32_t, int32_t>, bool> known;  // by name and operator, which are few
    for (const int32_t id : trace.device_work()) {
      steps.Next();
      const int32_t op = has_operators ? trace.LaunchOf(id).op : store::kNone;
      const int32_t op_name = op < 0 ? store::kNone : trace.stage().Slice(op).name;
      const auto [found, is_new] =
          known.try_emplace({trace.stage().Slice(id).name, op_name}, false);
      if (is_new) found->second = !DeviceCollective(trace, id).empty();
      if (!found->second) continue;
      table.Append(writer.Row(id, true));
      ++count;
    }
  } else if (trace.launch_calls() == 0) {  // else the host's times are not the device's
    for (const int32_t id : trace.stage().arrangement().preorder) {
      steps.Next();
      if (HostCollective(trace, id).empty()) continue;
      table.Append(writer.Row(id, false));
      ++count;
    }
  }
  SONDE_RETURN_IF_ERROR(table.Close());
  SONDE_RETURN_IF_ERROR(writer.WriteGroups(transaction));
  return count;
}

}  // namespace sonde::importers::kineto
