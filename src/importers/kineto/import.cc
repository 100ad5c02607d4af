#include "importers/kineto/import.h"

#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/files.h"
#include "base/host/json.h"
#include "base/host/json_writer.h"
#include "base/strings.h"
#include "importers/ascend/machine.h"
#include "importers/common/file_stamp.h"
#include "importers/kineto/dialect.h"
#include "importers/kineto/trace.h"
#include "importers/trace_events/base_time.h"
#include "importers/trace_events/finish.h"
#include "importers/trace_events/head.h"
#include "importers/trace_events/stage.h"

namespace sonde::importers {
namespace {

using kineto::KinetoTrace;
using trace_events::EventStage;

std::optional<std::string_view> MetadataOf(const EventStage& stage, std::string_view key) {
  for (const auto& [name, value] : stage.metadata()) {
    if (name == key) return value;
  }
  return std::nullopt;
}

// {"backend": "nccl", "rank": 0, ...}
int32_t RankOfInfo(std::string_view json) {
  const auto document = base::JsonDocument::Parse(json, "distributedInfo");
  if (!document.ok()) return store::kNone;
  const auto rank = document->root().GetInt("rank", -1);
  return rank.ok() && *rank >= 0 && *rank <= INT32_MAX ? static_cast<int32_t>(*rank) : store::kNone;
}

// "rank-34.host.pt.trace.json", "dp0_pp0_rank3.1234.pt.trace.json", "sampled_rank-0.json".
int32_t RankOfName(const std::string& path) {
  const std::string name(base::BaseName(path));
  const size_t place = name.find("rank");
  if (place == std::string::npos) return store::kNone;
  size_t begin = place + 4;
  if (begin < name.size() && (name[begin] == '-' || name[begin] == '_')) ++begin;
  size_t end = begin;
  while (end < name.size() && end < begin + 6 && name[end] >= '0' && name[end] <= '9') ++end;
  const auto rank = base::ParseInt64(std::string_view(name).substr(begin, end - begin));
  return rank ? static_cast<int32_t>(*rank) : store::kNone;
}

std::string HostOf(const EventStage& stage) {
  const auto text = MetadataOf(stage, "host_name");
  if (!text) return "";
  const auto document = base::JsonDocument::Parse(*text, "host_name");
  return document.ok() && document->root().IsString() ? document->root().AsString().value_or("")
                                                      : "";
}

// By number, from [{"id": 0, "name": "NVIDIA H100 80GB HBM3", ...}].
std::map<int64_t, std::string> DeviceNames(const EventStage& stage) {
  std::map<int64_t, std::string> names;
  const auto text = MetadataOf(stage, "deviceProperties");
  if (!text) return names;
  const auto document = base::JsonDocument::Parse(*text, "deviceProperties");
  if (!document.ok()) return names;
  for (const base::JsonValue device : document->root().Elements()) {
    const auto number = device.GetInt("id", -1);
    const auto name = device.GetString("name", "");
    if (number.ok() && name.ok() && !name->empty()) names[*number] = *name;
  }
  return names;
}

// "GPU 0, NVIDIA H100": Kineto names the processes of devices like the program. Chips have the
// place of the store that every form fills.
void NameDevices(EventStage& stage) {
  const std::map<int64_t, std::string> names = DeviceNames(stage);
  for (const auto& [number, name] : names) {
    stage.AddMetadata(base::Concat(ascend::kNpuName, std::to_string(number)),
                      base::JsonQuote(name));
  }
  std::set<int32_t> named;
  for (const trace_events::TrackEntry& track : stage.tracks().tracks) {
    if (track.device_id < 0 || !named.insert(track.process).second) continue;
    trace_events::ProcessEntry& process =
        stage.tracks().processes[static_cast<size_t>(track.process)];
    std::string name = process.labels >= 0
                           ? std::string(stage.names().Text(process.labels))
                           : base::Concat("Device ", std::to_string(track.device_id));
    const auto known = names.find(track.device_id);
    if (known != names.end()) name += base::Concat(", ", known->second);
    process.name = stage.names().Intern(name);
  }
}

Status WriteTables(EventStage& stage, store::Transaction& transaction, ImportSummary& summary) {
  const KinetoTrace trace(stage);
  SONDE_RETURN_IF_ERROR(kineto::WriteFrameworkOps(trace, transaction));
  SONDE_RETURN_IF_ERROR(kineto::WriteSteps(trace, transaction));
  SONDE_RETURN_IF_ERROR(kineto::WriteRanges(trace, transaction));
  SONDE_RETURN_IF_ERROR(kineto::WriteMissingFlows(trace, transaction));
  SONDE_ASSIGN_OR_RETURN(summary.device_tasks, kineto::WriteDeviceTasks(trace, transaction));
  SONDE_ASSIGN_OR_RETURN(summary.communication_ops, kineto::WriteCommunication(trace, transaction));
  SONDE_ASSIGN_OR_RETURN(summary.memory_events, kineto::WriteMemory(trace, transaction));
  return {};
}

// A number of "distributedInfo"; none where the head of the file does not hold it.
std::optional<int32_t> NumberOfInfo(const std::string& path, std::string_view key) {
  const trace_events::TraceHead head = trace_events::ReadTraceHead(path);
  const size_t place = head.text.find("\"distributedInfo\"");
  const size_t brace = place == std::string::npos ? place : head.text.find('{', place);
  if (brace == std::string::npos) return std::nullopt;
  // The list of groups behind it may be longer than the head.
  const auto found = trace_events::FindMemberIn(std::string_view(head.text).substr(brace), key);
  const auto number = found ? base::ParseInt64(found->text) : std::nullopt;
  if (!number || *number < 0 || *number > INT32_MAX) return std::nullopt;
  return static_cast<int32_t>(*number);
}

}  // namespace

// By the begin of newer files; older ones, by their categories.
bool HoldsKineto(const std::string& path) {
  const trace_events::TraceHead head = trace_events::ReadTraceHead(path);
  if (!head.is_trace || !head.is_object) return false;
  for (const std::string_view key :
       {"\"schemaVersion\"", "\"deviceProperties\"", "\"distributedInfo\"", "\"cpu_op\"",
        "\"Operator\"", "\"python_function\"", "\"user_annotation\"", "\"cuda_runtime\"",
        "\"gpu_memcpy\"", "\"gpu_user_annotation\"", "\"baseTimeNanoseconds\""}) {
    if (head.Has(key)) return true;
  }
  return base::BaseName(path).find(".pt.trace.json") != std::string_view::npos;
}

bool IsKineto(const std::string& path) {
  return trace_events::HasTraceName(path) && HoldsKineto(path);
}

Result<int32_t> KinetoRank(const std::string& path) {
  const auto rank = NumberOfInfo(path, "rank");
  return rank ? *rank : RankOfName(path);
}

int32_t KinetoWorld(const std::string& path) {
  return NumberOfInfo(path, "world_size").value_or(0);
}

Result<int64_t> KinetoStamp(const std::string& path) {
  SONDE_ASSIGN_OR_RETURN(const uint64_t stamp, FileStamp(path));
  return static_cast<int64_t>(stamp);
}

Result<ImportSummary> ImportKineto(const std::string& path, store::Store& store,
                                   const ImportOptions& options) {
  const kineto::KinetoDialect dialect;
  EventStage stage(store, dialect, options);
  SONDE_RETURN_IF_ERROR(stage.Read(path));
  const auto info = MetadataOf(stage, "distributedInfo");
  int32_t rank = info ? RankOfInfo(*info) : store::kNone;
  if (rank < 0) rank = RankOfName(path);
  stage.SetOrigin(rank, HostOf(stage));
  SONDE_RETURN_IF_ERROR(stage.Arrange(trace_events::TakeBaseTime(stage)));
  NameDevices(stage);
  const auto more = [&](store::Transaction& transaction, ImportSummary& summary) {
    return WriteTables(stage, transaction, summary);
  };
  return trace_events::Finish(stage, store, options, {.more = more});
}

}  // namespace sonde::importers
