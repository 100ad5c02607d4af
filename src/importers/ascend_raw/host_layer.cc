#include "importers/ascend_raw/host_layer.h"

#include <algorithm>
#include <array>

#include "base/strings.h"
#include "importers/ascend_raw/issues.h"

namespace sonde::importers::raw {
namespace {

// Of a call of level acl: what part of the interface it belongs to.
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
    ReadRecords(stream, kApiForm, rows_.issues,
                [this](std::string_view record) { TakeApi(ReadApi(record)); });
    return true;
  }
  if (parts[1] == "compact") return ReadCompact(parts[2], stream, parts[0] == "aging");
  return parts[1] == "additional" && ReadAdditional(parts[2], stream);
}

bool HostLayer::ReadCompact(std::string_view tag, const Stream& stream, bool is_dynamic) {
  const auto read = [&](const auto& take) {
    ReadRecords(stream, kCompactForm, rows_.issues, take);
    return true;
  };
  if (tag == "task_track") {
    return read([this](std::string_view r) { tracks_.push_back(ReadTaskTrack(r)); });
  }
  if (tag == "node_basic_info") {
    return read([&](std::string_view r) { basics_.push_back(ReadNodeBasic(r, is_dynamic)); });
  }
  if (tag == "hccl_op_info") {
    return read([this](std::string_view r) { operations_.push_back(ReadHcclOp(r)); });
  }
  if (tag == "memcpy_info") {
    return read([this](std::string_view r) { copies_.push_back(ReadCopyInfo(r)); });
  }
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
  const auto keep = [&](auto&& record, auto& list) {
    if (record) {
      list.push_back(*record);
    } else {
      rows_.issues.Add(kBadRecord, stream.name);
    }
  };
  if (tag == "tensor_info") {
    return read([&](std::string_view r) { keep(ReadTensorInfo(r), tensors_); });
  }
  if (tag == "context_id_info") {
    return read([&](std::string_view r) { keep(ReadContextIds(r), contexts_); });
  }
  if (tag == "hccl_info") {
    return read([this](std::string_view r) { transfers_.push_back(ReadHcclTask(r)); });
  }
  return false;
}

// Of two events with the same key the first begins a call and the second ends it.
void HostLayer::TakeApi(const ApiRecord& record) {
  if (!record.is_event()) {
    apis_.push_back({.record = record, .begin = record.head.time, .end = record.end});
    return;
  }
  const Head& head = record.head;
  const auto key = std::tuple(head.level, head.type, head.tid, head.data_size, record.item);
  const auto [open, is_new] = open_events_.try_emplace(key, head.time);
  if (is_new) return;
  apis_.push_back({.record = record, .begin = open->second, .end = head.time});
  open_events_.erase(open);
}

void HostLayer::Build(int64_t pid) {
  if (!open_events_.empty()) {
    rows_.issues.Add(kEventUnpaired, "api_event", -1, static_cast<int64_t>(open_events_.size()));
  }
  AddCalls(pid);
  BuildTree();
  AttachAll();
  for (size_t i = 0; i < copies_.size(); ++i) {
    copy_of_moment_.try_emplace({copies_[i].head.tid, copies_[i].head.time},
                                static_cast<int32_t>(i));
  }
  const std::vector<uint32_t> batches = BatchIds();
  for (size_t i = 0; i < tracks_.size(); ++i) AddTask(tracks_[i], batches[i]);
}

void HostLayer::AddCalls(int64_t pid) {
  std::stable_sort(apis_.begin(), apis_.end(), [](const Api& a, const Api& b) {
    if (a.begin != b.begin) return a.begin < b.begin;
    return a.record.head.level > b.record.head.level;
  });
  ascend::DeviceRows device(rows_);
  const int32_t process = rows_.Process(pid);
  int64_t next_id = static_cast<int64_t>(rows_.api_calls.size()) + 1;
  for (Api& api : apis_) {
    const Head& head = api.record.head;
    const int64_t begin = clock_.FromTicks(api.begin);
    api.id = next_id++;
    api.slice = device.AddCall({.ts = begin,
                                .dur = SpanNs(begin, clock_.FromTicks(api.end)),
                                .thread_id = rows_.Thread(process, head.tid),
                                .name = dictionary_.Type(head.level, head.type),
                                .level = rows_.names.Intern(LevelName(head.level)),
                                .connection_id = api.id});
    rows_.slices[static_cast<size_t>(api.slice)].args_id = ArgumentsOf(api.record);
  }
}

// Under the names that timelines have for them. Calls of one kind about one thing share theirs.
int32_t HostLayer::ArgumentsOf(const ApiRecord& record) {
  const Head& head = record.head;
  const bool is_acl = head.level == kLevelAcl;
  const int32_t type = dictionary_.Type(head.level, head.type);
  const std::string_view group = GroupName(head.type);
  const int32_t mode = !is_acl         ? type
                       : group.empty() ? rows_.names.Intern(std::to_string(head.type >> 16U))
                                       : rows_.names.Intern(group);
  const int32_t none = rows_.names.Intern("0");
  // Models and steps have numbers in place of names.
  const bool is_number = head.level == kLevelModel || dictionary_.View(type) == "step_info";
  const int32_t item = record.item == 0 ? none
                       : is_number      ? rows_.names.Intern(std::to_string(record.item))
                                        : dictionary_.Text(record.item);
  const int32_t id = is_acl ? type : none;
  const auto [known, is_new] = arguments_.try_emplace({mode, id, item}, rows_.next_args_id);
  if (!is_new) return known->second;
  const int32_t args = rows_.next_args_id++;
  const auto add = [&](std::string_view key, int32_t value) {
    rows_.args_text.push_back(
        {.args_id = args, .key = rows_.names.Intern(key), .form = 0, .value = value});
  };
  add("Mode", mode);
  add("id", id);
  add("item_id", item);
  return args;
}

const HcclOp* HostLayer::OperationOf(int32_t api) const {
  const auto facts = node_facts_.find(api);
  if (facts == node_facts_.end() || facts->second.operation < 0) return nullptr;
  return &operations_[static_cast<size_t>(facts->second.operation)];
}

const NodeBasic* HostLayer::BasicOf(int32_t api) const {
  const auto facts = node_facts_.find(api);
  if (facts == node_facts_.end() || facts->second.basic < 0) return nullptr;
  return &basics_[static_cast<size_t>(facts->second.basic)];
}

const CopyInfo* HostLayer::CopyOf(const TaskTrack& track) const {
  const auto copy = copy_of_moment_.find({track.head.tid, track.head.time});
  return copy == copy_of_moment_.end() ? nullptr : &copies_[static_cast<size_t>(copy->second)];
}

}  // namespace sonde::importers::raw
