#include "importers/ascend/groups.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/host/json.h"
#include "base/strings.h"
#include "importers/trace_events/members.h"

namespace sonde::importers {
namespace {

using base::Concat;
using base::JsonDocument;
using base::JsonValue;

constexpr store::IssueKind kBadMetadata{"metadata_garbled", store::Severity::kWarning,
                                        "metadata that is not valid JSON was left out"};

constexpr store::IssueKind kBadRank{"rank_garbled", store::Severity::kWarning,
                                    "rank_id is no number of a rank; the rank is unknown"};

struct TypeSize {
  std::string_view name;
  int64_t bytes;
};
constexpr std::array kTypeSizes = std::to_array<TypeSize>({{"INT8", 1},
                                                           {"UINT8", 1},
                                                           {"HIF8", 1},
                                                           {"FP8E4M3", 1},
                                                           {"FP8E5M2", 1},
                                                           {"FP8E8M0", 1},
                                                           {"INT16", 2},
                                                           {"UINT16", 2},
                                                           {"FP16", 2},
                                                           {"BFP16", 2},
                                                           {"INT32", 4},
                                                           {"UINT32", 4},
                                                           {"FP32", 4},
                                                           {"INT64", 8},
                                                           {"UINT64", 8},
                                                           {"FP64", 8},
                                                           {"INT128", 16}});

// A JSON value without white space around its parts.
std::string Compact(std::string_view json) {
  std::string out;
  bool in_string = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (c == '"') in_string = !in_string;
    const bool is_space = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (in_string || !is_space) out += c;
    if (in_string && c == '\\' && i + 1 < json.size()) out += json[++i];
  }
  return out;
}

// The members of a JSON file as metadata, with the digits of numbers unchanged. `text` is an
// object, maybe behind a byte order mark.
void AddMembers(std::string_view text, bool is_info, TraceRows& rows) {
  text = text.substr(text.find('{'), text.rfind('}') + 1 - text.find('{'));
  trace_events::ForEachMember(
      text, [&](std::string_view key, bool escaped, const trace_events::JsonValue& v) {
        const std::string name = escaped ? trace_events::Unescape(key) : std::string(key);
        const std::string json = v.is_string ? Concat("\"", v.text, "\"") : Compact(v.text);
        rows.AddJson(is_info && name == "config" ? "profiler_config" : name, json);
        if (name == "parallel_group_info") AddGroups(json, rows);
      });
}

void TakeRank(const JsonValue& info, std::string_view file, TraceRows& rows) {
  const JsonValue rank = info["rank_id"];
  std::optional<int64_t> number;
  if (rank.IsString()) number = base::ParseInt64(rank.AsString().value_or(""));
  if (const auto integer = rank.AsInt(); integer.ok()) number = *integer;
  const bool is_rank = number && *number >= 0 && *number < INT32_MAX;
  if (is_rank && rows.rank < 0) rows.rank = static_cast<int32_t>(*number);
  // Programs without ranks have -1, or none.
  const bool is_none = rank.IsNull() || (number && *number == -1);
  if (!is_rank && !is_none) rows.issues.Add(kBadRank, file);
  if (rank.IsString()) rows.AddText("rank_source", "RANK");
}

}  // namespace

void AddGroups(std::string_view json, TraceRows& rows) {
  const auto document = JsonDocument::Parse(json, "parallel_group_info");
  if (!document.ok() || !document->root().IsObject()) {
    rows.issues.Add(kBadMetadata, rows.source);
    return;
  }
  for (const auto& [name, group] : document->root().Members()) {
    const auto hash = static_cast<int64_t>(GroupHash(name));
    const auto same = [&](const GroupFact& known) { return known.hash == hash; };
    if (std::any_of(rows.groups.begin(), rows.groups.end(), same)) continue;
    GroupFact fact;
    fact.hash = hash;
    fact.name = rows.names.Intern(name);
    const auto description = group.GetString("group_name", "");
    if (description.ok() && !description->empty()) {
      fact.description = rows.names.Intern(*description);
    }
    fact.rank_list = group["global_ranks"].IsArray() ? group["global_ranks"].Dump() : "[]";
    rows.groups.push_back(std::move(fact));
  }
}

std::string CommunicationType(std::string_view name) {
  std::string type = base::ToLower(name.substr(0, name.find("__")));
  if (type.starts_with("hcom_")) type.erase(0, 5);
  while (type.ends_with('_')) type.pop_back();
  return type;
}

int64_t ElementBytes(std::string_view hccl_type) {
  for (const TypeSize& type : kTypeSizes) {
    if (type.name == hccl_type) return type.bytes;
  }
  return -1;
}

std::optional<std::string_view> UnquotedShapes(std::string_view cell) {
  if (cell.empty() || cell == "N/A") return std::nullopt;
  if (cell.size() >= 2 && cell.front() == '"' && cell.back() == '"') {
    cell.remove_prefix(1);
    cell.remove_suffix(1);
  }
  return cell;
}

std::string JoinedLines(std::string_view cell) {
  std::string out;
  for (const char c : cell) {
    if (c != '\r' && c != '\n') out += c;
  }
  return out;
}

void ComputeWaits(TraceRows& rows, bool one_device) {
  struct Busy {
    int64_t ts;
    int64_t end;
    int64_t place;  // in the tasks, and behind those in the communication operations
  };
  const base::SpillAllocator<Busy> memory(rows.pool());
  std::map<std::pair<int32_t, int32_t>, base::SpillVector<Busy>> by_device;
  const auto busy = [&](int32_t process_id, int32_t device_id) -> base::SpillVector<Busy>& {
    const std::pair device = one_device ? std::pair(0, 0) : std::pair(process_id, device_id);
    return by_device.try_emplace(device, memory).first->second;
  };
  const auto task_count = static_cast<int64_t>(rows.tasks.size());
  if (one_device) busy(0, 0).reserve(rows.tasks.size() + rows.communications.size());
  base::SpillSteps steps(rows.pool());
  for (int64_t i = 0; i < task_count; ++i) {
    steps.Next();
    const store::DeviceTaskRow& task = rows.tasks[static_cast<size_t>(i)];
    if (rows.kinds[static_cast<size_t>(task.kind_id)].core == store::kNone) continue;
    const Busy one{task.ts, task.ts + task.dur, i};
    if (one_device) {
      busy(0, 0).push_back(one);
      continue;
    }
    const store::TrackRow& track = rows.tracks[static_cast<size_t>(task.track_id)];
    busy(track.process_id, track.device_id).push_back(one);
  }
  int64_t place = task_count;
  for (const store::CommunicationOpRow& op : rows.communications) {
    busy(op.process_id, op.device_id).push_back({op.ts, op.ts + op.dur, place++});
  }
  for (auto& [device, list] : by_device) {
    const auto before = [](const Busy& a, const Busy& b) {
      return std::tie(a.ts, a.place) < std::tie(b.ts, b.place);
    };
    // Tasks mostly come in that order, operations behind them all.
    const auto operations = std::partition_point(
        list.begin(), list.end(), [&](const Busy& one) { return one.place < task_count; });
    const auto sort = [&](auto begin, auto end) {
      if (!base::IsSorted(begin, end, rows.pool(), before)) std::sort(begin, end, before);
    };
    sort(list.begin(), operations);
    sort(operations, list.end());
    std::inplace_merge(list.begin(), operations, list.end(), before);
    for (size_t i = 1; i < list.size(); ++i) {
      steps.Next();
      if (list[i].place >= task_count) continue;
      rows.tasks[static_cast<size_t>(list[i].place)].wait_ns =
          std::max<int64_t>(0, list[i].ts - list[i - 1].end);
    }
  }
}

void ReadSpanMetadata(const std::string& span_folder, TraceRows& rows) {
  constexpr size_t kLargest = size_t{64} << 20U;
  const auto entries = base::ListDirectory(span_folder);
  if (!entries.ok()) return;  // a database or file that was named alone
  for (const base::DirectoryEntry& entry : *entries) {
    const bool is_info = entry.name.starts_with("profiler_info") && entry.name.ends_with(".json");
    if (!is_info && entry.name != "profiler_metadata.json") continue;
    const auto text = base::ReadFile(base::JoinPath(span_folder, entry.name), kLargest);
    const auto document = JsonDocument::Parse(text.value_or(""), entry.name);
    if (!document.ok() || !document->root().IsObject()) {
      rows.issues.Add(kBadMetadata, entry.name);
      continue;
    }
    if (is_info) TakeRank(document->root(), entry.name, rows);
    AddMembers(*text, is_info, rows);
  }
}

}  // namespace sonde::importers
