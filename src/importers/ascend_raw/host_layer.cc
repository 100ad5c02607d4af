#include "importers/ascend_raw/host_layer.h"

#include <algorithm>
#include <array>

#include "base/strings.h"
#include "importers/ascend_raw/issues.h"

namespace sonde::importers::raw {
namespace {

// Of a call of level acl: its part of the interface.
std::string_view GroupName(uint32_t type) {
  constexpr std::array<std::string_view, 12> kNames = {
      "",          "ACL_OP", "ACL_MODEL", "ACL_RTS",   "ACL_OTHERS", "ACL_NN", "ACL_ASCENDC",
      "HOST_HCCL", "",       "ACL_DVPP",  "ACL_GRAPH", "ACL_ATB"};
  const uint32_t group = type >> 16U;
  return group < kNames.size() ? kNames.at(group) : std::string_view();
}

// As databases name the levels of calls.
std::string_view LevelName(uint16_t level) {
  switch (level) {
    case kLevelAcl:
      return "acl";
    case kLevelModel:
      return "model";
    case kLevelNode:
      return "node";
    case kLevelCommunication:
      return "communication";
    case kLevelRuntime:
      return "runtime";
    default:
      return "unknown";
  }
}

}  // namespace

bool HostLayer::Read(const Stream& stream) {
  const std::vector<std::string_view> parts = base::Split(stream.name, '.');
  if (parts.size() != 3 || (parts[0] != "aging" && parts[0] != "unaging")) return false;
  if (parts[1] == "api_event" && parts[2] == "data") {
    ReserveFor(stream, kApiForm, apis_);
    ReadRecords(stream, kApiForm, rows_.issues,
                [this](std::string_view record) { TakeApi(ReadApi(record)); });
    return true;
  }
  if (captured_.Read(stream)) return true;
  if (parts[1] == "compact") return ReadCompact(parts[2], stream, parts[0] == "aging");
  return parts[1] == "additional" && ReadAdditional(parts[2], stream);
}

bool HostLayer::ReadCompact(std::string_view tag, const Stream& stream, bool is_dynamic) {
  const auto read = [&](const auto& take) {
    ReadRecords(stream, kCompactForm, rows_.issues, take);
    return true;
  };
  const auto keep = [&](auto& records, const auto& one) {
    ReserveFor(stream, kCompactForm, records);
    return read([&](std::string_view r) { records.push_back(one(r)); });
  };
  if (tag == "task_track") return keep(tracks_, ReadTaskTrack);
  if (tag == "node_basic_info") {
    return keep(basics_, [&](std::string_view r) { return ReadNodeBasic(r, is_dynamic); });
  }
  if (tag == "hccl_op_info") return keep(operations_, ReadHcclOp);
  if (tag == "memcpy_info") return keep(copies_, ReadCopyInfo);
  if (tag == "node_attr_info") return keep(attributes_, ReadNodeAttributes);
  if (tag == "expand_stream_spec") {
    return read([this](std::string_view r) { expands_streams_ |= At<uint8_t>(r, 24) == 1; });
  }
  return false;
}

bool HostLayer::ReadAdditional(std::string_view tag, const Stream& stream) {
  if (tag == "hash_dic") {
    dictionary_.AddHashes(ReadTexts(stream, rows_.issues), stream.name);
    return true;
  }
  if (tag == "type_info_dic") {
    dictionary_.AddTypes(ReadTexts(stream, rows_.issues), stream.name);
    return true;
  }
  const auto read = [&](const auto& take) {
    ReadRecords(stream, kAdditionalForm, rows_.issues, take);
    return true;
  };
  const auto keep = [&](const std::optional<ListRecord>& record, auto& lists, auto& list_of,
                        const auto& items) {
    if (!record) return rows_.issues.Add(kBadRecord, stream.name);
    lists.push_back({.head = record->head, .list = list_of.Add(record->bytes, items)});
  };
  if (tag == "tensor_info") {
    ReserveFor(stream, kAdditionalForm, tensors_);
    return read(
        [&](std::string_view r) { keep(ReadTensorInfo(r), tensors_, tensor_lists_, ReadTensors); });
  }
  if (tag == "context_id_info") {
    ReserveFor(stream, kAdditionalForm, contexts_);
    return read(
        [&](std::string_view r) { keep(ReadContextIds(r), contexts_, id_lists_, ReadIds); });
  }
  if (tag == "hccl_info") {
    ReserveFor(stream, kAdditionalForm, transfers_);
    return read([this](std::string_view r) { transfers_.push_back(ReadHcclTask(r)); });
  }
  return false;
}

// Of two events with the same key the first begins a call and the second ends it.
void HostLayer::TakeApi(const ApiRecord& record) {
  const Head& head = record.head;
  Api api{.begin = head.time,
          .end = record.end,
          .item = record.item,
          .type = head.type,
          .tid = head.tid,
          .order = static_cast<uint32_t>(apis_.size()),
          .level = head.level};
  if (record.is_event()) {
    const auto key = std::tuple(head.level, head.type, head.tid, head.number, record.item);
    const auto [open, is_new] = open_events_.try_emplace(key, head.time);
    if (is_new) return;
    api.begin = open->second;
    api.end = head.time;
    open_events_.erase(open);
  }
  apis_.push_back(api);
}

void HostLayer::Build(int64_t pid) {
  if (!open_events_.empty()) {
    rows_.issues.Add(kEventUnpaired, "api_event", -1, static_cast<int64_t>(open_events_.size()));
  }
  AddCalls(pid);
  BuildTree();
  AttachAll();
  captured_.Build();
  for (size_t i = 0; i < copies_.size(); ++i) copies_[i].head.number = static_cast<uint32_t>(i);
  std::sort(copies_.begin(), copies_.end(), [](const CopyInfo& a, const CopyInfo& b) {
    return std::tie(a.head.tid, a.head.time, a.head.number) <
           std::tie(b.head.tid, b.head.time, b.head.number);
  });
  const Records<uint32_t> batches = BatchIds();
  tasks_.reserve(tracks_.size());
  base::SpillSteps steps(rows_.pool());
  for (size_t i = 0; i < tracks_.size(); ++i) {
    steps.Next();
    AddTask(tracks_[i], batches[i]);
  }
  // Shapes and types of operators are in kernels() now.
  tensors_ = NoRecords<KeptList>();
}

void HostLayer::AddCalls(int64_t pid) {
  const auto before = [](const Api& a, const Api& b) {
    if (a.begin != b.begin) return a.begin < b.begin;
    return a.level != b.level ? a.level > b.level : a.order < b.order;
  };
  if (!base::IsSorted(apis_.begin(), apis_.end(), rows_.pool(), before)) {
    std::sort(apis_.begin(), apis_.end(), before);
  }
  ascend::DeviceRows device(rows_);
  const int32_t process = rows_.Process(pid);
  // Behind those of the calls, and of the tasks that none launched, of other folders.
  first_id_ = static_cast<int64_t>(rows_.api_calls.size() + rows_.tasks.size()) + 1;
  first_slice_ = static_cast<int32_t>(rows_.slices.size());
  ReserveMore(rows_.api_calls, apis_.size());
  // Of calls, of the tasks that they launch, and of the operations that some of those are.
  ReserveMore(rows_.slices, apis_.size() + tracks_.size() + operations_.size());
  struct Thread {
    int32_t id = store::kNone;
    int32_t track = store::kNone;
  };
  std::unordered_map<uint32_t, Thread> threads;
  const Thread* thread = nullptr;
  uint32_t tid = 0;
  base::SpillSteps steps(rows_.pool());
  for (size_t i = 0; i < apis_.size(); ++i) {
    steps.Next();
    const Api& api = apis_[i];
    if (thread == nullptr || api.tid != tid) {
      const auto [known, is_new] = threads.try_emplace(api.tid);
      if (is_new) {
        const int32_t id = rows_.Thread(process, api.tid);
        known->second = {id, device.CallTrack(id)};
      }
      thread = &known->second;
      tid = api.tid;
    }
    const KnownCall& known = KnownOf(api);
    const int64_t begin = clock_.FromTicks(api.begin);
    const int32_t slice = device.AddCall({.ts = begin,
                                          .dur = SpanNs(begin, clock_.FromTicks(api.end)),
                                          .thread_id = thread->id,
                                          .name = known.kind->name,
                                          .level = known.kind->level,
                                          .connection_id = IdOf(static_cast<int32_t>(i)),
                                          .track_id = thread->track});
    rows_.slices[static_cast<size_t>(slice)].args_id = known.args;
  }
}

// Most calls are like one of a moment ago.
const HostLayer::KnownCall& HostLayer::KnownOf(const Api& api) {
  constexpr size_t kKept = 1024;
  known_calls_.resize(kKept);
  const uint64_t hash = base::HashCombine(api.item, uint64_t{api.level} << 32U | api.type);
  KnownCall& known = known_calls_[hash % kKept];
  const bool is_it = known.kind != nullptr && known.item == api.item && known.type == api.type &&
                     known.level == api.level;
  if (is_it) return known;
  const CallKind& kind = KindOf(api);
  return known = {api.item, api.type, api.level, &kind, ArgumentsOf(api, kind)};
}

// Under the names that timelines have for them.
const HostLayer::CallKind& HostLayer::KindOf(const Api& api) {
  const auto [known, is_new] = call_kinds_.try_emplace({api.level, api.type});
  CallKind& kind = known->second;
  if (!is_new) return kind;
  const bool is_acl = api.level == kLevelAcl;
  const std::string_view group = GroupName(api.type);
  kind.number = static_cast<uint32_t>(call_kinds_.size());
  kind.name = dictionary_.Type(api.level, api.type);
  kind.level = rows_.names.Intern(LevelName(api.level));
  kind.mode = !is_acl         ? kind.name
              : group.empty() ? rows_.names.Intern(std::to_string(api.type >> 16U))
                              : rows_.names.Intern(group);
  kind.id = is_acl ? kind.name : rows_.names.Intern("0");
  // Models and steps have numbers instead of names.
  kind.has_number = api.level == kLevelModel || dictionary_.View(kind.name) == "step_info";
  return kind;
}

// Calls of one kind with one item share an argument set.
int32_t HostLayer::ArgumentsOf(const Api& api, const CallKind& kind) {
  const int32_t item = api.item == 0     ? rows_.names.Intern("0")
                       : kind.has_number ? rows_.names.Intern(std::to_string(api.item))
                                         : dictionary_.Text(api.item);
  const uint64_t both = uint64_t{kind.number} << 32U | static_cast<uint32_t>(item);
  const auto [fast, is_first] = arguments_of_kind_.try_emplace(both, store::kNone);
  if (!is_first) return fast->second;
  const auto [known, is_new] =
      arguments_.try_emplace({kind.mode, kind.id, item}, rows_.next_args_id);
  fast->second = known->second;
  if (!is_new) return known->second;
  const int32_t args = rows_.next_args_id++;
  const auto add = [&](std::string_view key, int32_t value) {
    rows_.args_text.push_back(
        {.args_id = args, .key = rows_.names.Intern(key), .form = 0, .value = value});
  };
  add("Mode", kind.mode);
  add("id", kind.id);
  add("item_id", item);
  return args;
}

const HcclOp* HostLayer::OperationOf(int32_t api) const {
  const int32_t index = FactsOf(api).operation;
  return index < 0 ? nullptr : &operations_[static_cast<size_t>(index)];
}

const NodeBasic* HostLayer::BasicOf(int32_t api) const {
  const int32_t index = FactsOf(api).basic;
  return index < 0 ? nullptr : &basics_[static_cast<size_t>(index)];
}

const CopyInfo* HostLayer::CopyOf(const TaskTrack& track) const {
  const auto moment = std::pair(track.head.tid, track.head.time);
  const auto copy = std::lower_bound(
      copies_.begin(), copies_.end(), moment,
      [](const CopyInfo& a, const auto& of) { return std::pair(a.head.tid, a.head.time) < of; });
  const bool is_there =
      copy != copies_.end() && std::pair(copy->head.tid, copy->head.time) == moment;
  return is_there ? &*copy : nullptr;
}

}  // namespace sonde::importers::raw
