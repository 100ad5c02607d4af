// Head, tail, names and instants of a Kineto trace.
#include <algorithm>
#include <array>
#include <set>

#include "base/host/json.h"
#include "base/host/json_writer.h"
#include "base/strings.h"
#include "exporters/format/framework_rows.h"
#include "exporters/kineto/kineto_events.h"
#include "importers/ascend/machine.h"
#include "recipes/trace/device_view.h"

namespace sonde::exporters {
namespace {

using recipes::TraceData;

constexpr int64_t kQuarterYearNs = 7'889'238'000'000'000;
constexpr size_t kFrameEventsPerPiece = 4096;

// Metadata of a file of the PyTorch profiler stays as it was; `value` holds for others.
void WriteFlag(const TraceData& data, base::JsonWriter& json, std::string_view key, bool value) {
  const auto own = data.metadata.find(key);
  if (own != data.metadata.end()) {
    json.Key(key);
    json.Raw(own->second);
  } else if (!data.metadata.contains("schemaVersion")) {
    json.Key(key);
    json.Int(value ? 1 : 0);
  }
}

std::string_view HostOfProcesses(const TraceData& data) {
  for (const store::ProcessRow& process : data.processes) {
    if (const std::string_view host = data.Name(process.host); !host.empty()) return host;
  }
  return {};
}

// As torch names what carries collectives; `device`: "cpu".
struct BackEnd {
  std::string_view device;
  std::string_view name;
};
BackEnd BackEndOf(const recipes::DeviceView& view) {
  const TraceData& data = *view.data;
  for (const recipes::Device& device : view.devices) {
    if (device.is_cpu) return {"cpu", "gloo"};
  }
  for (const store::TaskKindRow& kind : data.kinds) {
    if (data.Name(kind.core) == "GPU") return {"cuda", "nccl"};
  }
  return view.devices.empty() ? BackEnd{"cpu", "gloo"} : BackEnd{"npu", "hccl"};
}

void WriteGroups(const TraceData& data, const BackEnd& back_end, base::JsonWriter& json) {
  json.Key("pg_count");
  json.Int(static_cast<int64_t>(data.groups.size()));
  json.Key("pg_config");
  json.BeginArray();
  for (const recipes::CommunicationGroup& group : data.groups) {
    json.BeginObject();
    json.Key("pg_name");
    json.String(data.Name(group.name));
    json.Key("pg_desc");
    json.String(data.Name(group.description));
    json.Key("backend_config");
    json.String(base::Concat(back_end.device, ":", back_end.name));
    json.Key("ranks");
    json.Raw(group.rank_list.empty() ? "[]" : group.rank_list);
    json.EndObject();
  }
  json.EndArray();
}

// As torch has them; of other profilers' traces the chips' names are known.
void WriteDevices(const recipes::DeviceView& view, base::JsonWriter& json) {
  const auto& metadata = view.data->metadata;
  json.Key("deviceProperties");
  if (const auto own = metadata.find("deviceProperties"); own != metadata.end()) {
    return json.Raw(own->second);
  }
  std::set<int64_t> written;
  json.BeginArray();
  for (const recipes::Device& device : view.devices) {
    const auto name =
        metadata.find(base::Concat(importers::ascend::kNpuName, std::to_string(device.device_id)));
    if (name == metadata.end() || !written.insert(device.device_id).second) continue;
    json.BeginObject();
    json.Key("id");
    json.Int(device.device_id);
    json.Key("name");
    json.Raw(name->second);
    json.EndObject();
  }
  json.EndArray();
}

// What the groups do not say, as the version of NCCL.
void WriteRestOfDistributed(const TraceData& data, base::JsonWriter& json) {
  constexpr std::array<std::string_view, 5> kWritten = {"backend", "rank", "world_size", "pg_count",
                                                        "pg_config"};
  const auto own = data.metadata.find("distributedInfo");
  if (own == data.metadata.end()) return;
  const auto document = base::JsonDocument::Parse(own->second, "distributedInfo");
  if (!document.ok()) return;
  for (const auto& [key, value] : document->root().Members()) {
    if (std::ranges::find(kWritten, key) != kWritten.end()) continue;
    json.Key(key);
    json.Raw(value.Dump());
  }
}

// Facts of the session in a trace of torch's profiler, as its job and its log, stay as they were.
void WriteRestOfSession(const TraceData& data, base::JsonWriter& json) {
  constexpr std::array<std::string_view, 11> kWritten = {
      "schemaVersion",   "deviceProperties", "record_shapes",      "profile_memory",
      "with_stack",      "with_modules",     "distributedInfo",    "process_labels",
      "displayTimeUnit", "traceName",        "baseTimeNanoseconds"};
  if (!data.metadata.contains("schemaVersion")) return;
  for (const auto& [key, value] : data.metadata) {
    if (importers::ascend::IsMachineFact(key)) continue;  // has a key of its own
    if (std::ranges::find(kWritten, key) != kWritten.end()) continue;
    json.Key(key);
    json.Raw(value);
  }
}

// {"ph":"M","name":...,"ts":...,"pid":...,"tid":...,"args":{key:value}}
void AppendMetadata(std::string_view name, const std::string& pid, const std::string& tid,
                    std::string_view ts, std::string_view key, const std::string& value,
                    LineBuffer& out) {
  out.Append(base::Concat(R"({"ph":"M","name":")", name, R"(","ts":)", ts, R"(,"pid":)", pid,
                          R"(,"tid":)", tid, R"(,"args":{")", key, R"(":)", value, "}}"));
}

class NameWriter {
 public:
  NameWriter(std::string ts, LineBuffer& out) : ts_(std::move(ts)), out_(out) {}

  void Process(int64_t pid, std::string_view name, std::string_view label, int64_t sort_index) {
    Event("process_name", pid, 0, "name", base::JsonQuote(name));
    Event("process_labels", pid, 0, "labels", base::JsonQuote(label));
    Event("process_sort_index", pid, 0, "sort_index", std::to_string(sort_index));
  }
  void Thread(int64_t pid, int64_t tid, std::string_view name) {
    Event("thread_name", pid, tid, "name", base::JsonQuote(name));
    Event("thread_sort_index", pid, tid, "sort_index", std::to_string(tid));
  }

  bool is_empty() const { return is_first_; }

 private:
  void Event(std::string_view name, int64_t pid, int64_t tid, std::string_view key,
             const std::string& value) {
    if (!is_first_) out_.Append(",\n");
    is_first_ = false;
    AppendMetadata(name, std::to_string(pid), std::to_string(tid), ts_, key, value, out_);
  }

  std::string ts_;
  LineBuffer& out_;
  bool is_first_ = true;
};

void AppendNames(const recipes::DeviceView& view, int64_t base_ns, LineBuffer& out) {
  const TraceData& data = *view.data;
  NameWriter names(base::NsToMicrosecondText(data.first_ns - base_ns), out);
  for (const store::ProcessRow* process : data.ProcessesWithTracks()) {
    names.Process(process->pid, "python", "CPU", process->pid);
  }
  const FrameworkRows rows(data);
  std::set<std::pair<int64_t, int64_t>> seen;
  const auto name_row = [&](const store::TrackRow& track, int64_t row) {
    const int64_t pid = data.PidOf(track.process_id);
    if (!seen.insert({pid, row}).second) return;
    const std::string_view name =
        data.Name(data.threads[static_cast<size_t>(track.thread_id)].name);
    // Names that the PyTorch profiler gave have that form already.
    const std::string whole =
        base::Concat("thread ", std::to_string(data.TidOf(track.thread_id)), " (", name, ")");
    names.Thread(pid, row, name.starts_with("thread ") ? name : std::string_view(whole));
  };
  for (const store::TrackRow& track : data.tracks) {
    // Those of devices have rows of their own.
    if (track.thread_id < 0 || track.device_id >= 0) continue;
    if (data.IsOfKind(track, recipes::TrackKind::kStream)) continue;
    name_row(track, rows.OfTrack(track.track_id));
  }
  for (const auto& [track, row] : rows.extra_rows()) {
    name_row(data.tracks[static_cast<size_t>(track)], row);
  }
  for (const recipes::Device& device : view.devices) {
    names.Process(device.device_id, "python",
                  device.is_cpu ? "CPU as device " + std::to_string(device.device_id)
                                : "GPU " + std::to_string(device.device_id),
                  device.device_id + 5'000'000);
  }
  // All that follows begins with a comma.
  if (names.is_empty()) names.Process(0, "python", "CPU", 0);
}

void AppendMemoryEvent(const TraceData& data, const store::MemoryEventRow& event, int64_t base_ns,
                       LineBuffer& out) {
  out.Append(
      ",\n"
      R"({"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":)");
  out.Int(data.PidOf(event.process_id));
  out.Append(R"(,"tid":)");
  out.Int(data.TidOf(event.thread_id));
  out.Append(R"(,"ts":)");
  out.Microseconds(event.ts - base_ns);
  out.Append(R"(,"args":{"Total Reserved":)");
  out.Int(std::max<int64_t>(event.total_reserved, 0));
  out.Append(R"(,"Total Allocated":)");
  out.Int(std::max<int64_t>(event.total_allocated, 0));
  out.Append(R"(,"Bytes":)");
  out.Int(event.size_bytes);
  out.Append(R"(,"Addr":)");
  out.Int(event.pointer);
  out.Append(R"(,"Device Id":)");
  out.Int(event.device_type == 0 ? -1 : event.device_index);
  out.Append(R"(,"Device Type":)");
  out.Int(event.device_type);
  out.Append("}}");
}

}  // namespace

int64_t KinetoBaseNs(int64_t first_ns) { return first_ns / kQuarterYearNs * kQuarterYearNs; }

std::string KinetoHead(const ExportContext& context, int64_t base_ns) {
  const recipes::CaptureSettings& settings = context.view.settings;
  base::JsonWriter json(nullptr, base::JsonWriter::Style::kPythonDefault);
  json.BeginObject();
  json.Key("schemaVersion");
  json.Int(1);
  const TraceData& data = context.data();
  WriteDevices(context.view, json);
  WriteFlag(data, json, "record_shapes", settings.record_shapes);
  WriteFlag(data, json, "profile_memory", settings.profile_memory);
  WriteFlag(data, json, "with_stack", settings.with_stack);
  WriteFlag(data, json, "with_modules", settings.with_modules);
  if (const std::string_view host = HostOfProcesses(data); !host.empty()) {
    json.Key("host_name");
    json.String(host);
  }
  json.Key("distributedInfo");
  json.BeginObject();
  json.Key("backend");
  const BackEnd back_end = BackEndOf(context.view);
  json.String(back_end.name);
  json.Key("rank");
  json.Int(settings.rank.value_or(0));
  json.Key("world_size");
  json.Int(std::max<int64_t>(settings.world_size, 1));
  WriteGroups(data, back_end, json);
  WriteRestOfDistributed(data, json);
  json.EndObject();
  WriteRestOfSession(data, json);
  json.Key("displayTimeUnit");
  json.String("ms");
  json.Key("baseTimeNanoseconds");
  json.Int(base_ns);
  json.Key("traceEvents");
  json.BeginArray();
  json.EndArray();
  json.EndObject();
  // The writer wants the array and the object closed; the events go between.
  std::string head = json.Take();
  head.resize(head.size() - 2);
  return head + "\n";
}

std::string KinetoTail(const std::string& file_name) {
  return base::Concat("\n], \"traceName\": ", base::JsonQuote(file_name), "}\n");
}

void AddKinetoNames(const ExportContext& context, int64_t base_ns, TracePieces& pieces) {
  const recipes::DeviceView& view = context.view;
  pieces.Add([&view, base_ns](LineBuffer& out) { AppendNames(view, base_ns, out); });
}

void AddKinetoInstants(const ExportContext& context, int64_t base_ns, TracePieces& pieces) {
  const TraceData& data = context.data();
  if (context.view.settings.profile_memory) {
    pieces.AddRanges(data.memory_events.size(), kFrameEventsPerPiece,
                     [&data, base_ns](size_t begin, size_t end, LineBuffer& out) {
                       for (size_t i = begin; i < end; ++i) {
                         AppendMemoryEvent(data, data.memory_events[i], base_ns, out);
                       }
                     });
  }
  pieces.Add([&data, base_ns](LineBuffer& out) {
    const std::string begin = base::NsToMicrosecondText(data.first_ns - base_ns);
    const std::string end = base::NsToMicrosecondText(data.last_ns - base_ns);
    const std::string dur = base::NsToMicrosecondText(data.last_ns - data.first_ns);
    out.Append(base::Concat(
        ",\n"
        R"({"ph":"X","cat":"Trace","ts":)",
        begin, R"(,"dur":)", dur,
        R"x(,"pid":"Spans","tid":"PyTorch Profiler","name":"PyTorch Profiler (0)",)x"
        R"("args":{"Op count":0}})",
        ",\n"
        R"({"ph":"i","s":"g","name":")",
        kIterationStart, R"(","pid":"Traces","tid":"Trace PyTorch Profiler","ts":)", begin, "}",
        ",\n"
        R"({"ph":"i","s":"g","name":")",
        kRecordWindowEnd, R"(","pid":"","tid":"","ts":)", end, "}"));
  });
}

}  // namespace sonde::exporters
