// Device side of a Kineto trace: launches, kernels, flows between them.
#include <memory>

#include "base/host/json_writer.h"
#include "base/strings.h"
#include "exporters/format/framework_rows.h"
#include "exporters/kineto/kineto_events.h"
#include "recipes/communication/naming.h"

namespace sonde::exporters {
namespace {

using recipes::DeviceView;
using recipes::TraceData;

constexpr size_t kTasksPerPiece = 2048;
// The host waits for nothing: its launch takes the shortest time that can be written.
constexpr int64_t kLaunchNs = 1;

// Correlation numbers begin here: HolisticTraceAnalysis stores positions of events in a column as
// wide as the greatest correlation, and fails where 16 bits do for these and not for those.
constexpr int64_t kFirstCorrelation = int64_t{1} << 20;

// What one kernel and its launch are made of.
struct Kernel {
  std::string_view name;  // JSON text
  int64_t device = 0;
  int64_t stream = 0;
  int64_t ts_ns = 0;
  int64_t dur_ns = 0;
  int64_t correlation = 0;
  int32_t launch_slice = store::kNone;
  std::string_view more_args = "";  // JSON members, with the comma before
};

class KernelWriter {
 public:
  KernelWriter(const TraceData& data, const FrameworkRows& rows, int64_t base_ns)
      : data_(data), rows_(rows), base_ns_(base_ns) {}

  void Append(const Kernel& kernel, LineBuffer& out) const {
    const int64_t external_id = int64_t{kernel.launch_slice} + 1;
    out.Append(
        ",\n"
        R"({"ph":"X","cat":"kernel","name":)");
    out.Append(kernel.name);
    AppendRow(kernel.device, kernel.stream, kernel.ts_ns, out);
    out.Append(R"(,"dur":)");
    out.Microseconds(kernel.dur_ns);
    out.Append(R"(,"args":{"External id":)");
    out.Int(external_id);
    out.Append(R"(,"queued":0,"device":)");
    out.Int(kernel.device);
    out.Append(R"(,"context":1,"stream":)");
    out.Int(kernel.stream);
    out.Append(R"(,"correlation":)");
    out.Int(kernel.correlation);
    out.Append(kernel.more_args);
    out.Append("}}");
    if (kernel.launch_slice < 0) return;
    const store::SliceRow& launch = data_.Slice(kernel.launch_slice);
    const int64_t pid = data_.PidOf(data_.TrackOf(launch).process_id);
    const int64_t tid = rows_.OfTrack(launch.track_id);
    out.Append(
        ",\n"
        R"({"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel")");
    AppendRow(pid, tid, launch.ts, out);
    out.Append(R"(,"dur":)");
    out.Microseconds(std::min(kLaunchNs, data_.DurationNs(launch)));
    out.Append(R"(,"args":{"External id":)");
    out.Int(external_id);
    out.Append(R"(,"cbid":211,"correlation":)");
    out.Int(kernel.correlation);
    out.Append("}}");
    AppendFlow('s', kernel.correlation, pid, tid, launch.ts, out);
    AppendFlow('f', kernel.correlation, kernel.device, kernel.stream, kernel.ts_ns, out);
  }

 private:
  void AppendRow(int64_t pid, int64_t tid, int64_t ts_ns, LineBuffer& out) const {
    out.Append(R"(,"pid":)");
    out.Int(pid);
    out.Append(R"(,"tid":)");
    out.Int(tid);
    out.Append(R"(,"ts":)");
    out.Microseconds(ts_ns - base_ns_);
  }

  void AppendFlow(char phase, int64_t id, int64_t pid, int64_t tid, int64_t ts_ns,
                  LineBuffer& out) const {
    out.Append(phase == 's' ? ",\n"
                              R"({"ph":"s","id":)"
                            : ",\n"
                              R"({"ph":"f","id":)");
    out.Int(id);
    AppendRow(pid, tid, ts_ns, out);
    out.Append(phase == 's' ? R"(,"cat":"ac2g","name":"ac2g"})"
                            : R"(,"cat":"ac2g","name":"ac2g","bp":"e"})");
  }

  const TraceData& data_;
  const FrameworkRows& rows_;
  int64_t base_ns_;
};

// "allReduce" -> "AllReduce"
std::string Capitalised(std::string_view kind) {
  std::string text(kind);
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 32);
  return text;
}

std::string CollectiveArguments(const DeviceView& view, size_t index) {
  const TraceData& data = *view.data;
  const store::CommunicationOpRow& op = data.communications[index];
  const auto text = [](std::string_view key, std::string_view value) {
    return base::Concat(", \"", key, "\": ", base::JsonQuote(value));
  };
  const auto number = [](std::string_view key, int64_t value) {
    return base::Concat(", \"", key, "\": ", std::to_string(value));
  };
  std::string arguments = text("Collective name", data.Name(op.op_type));
  if (op.count >= 0) {
    arguments += number("In msg nelems", op.count) + number("Out msg nelems", op.count);
  }
  if (op.rank_size >= 0) arguments += number("Group size", op.rank_size);
  arguments += text("dtype", data.Name(op.data_type));
  arguments += text("Process Group Name", view.communications[index].group_name);
  for (const recipes::CommunicationGroup& group : data.groups) {
    if (group.hash != view.communications[index].group_hash) continue;
    arguments += text("Process Group Description", data.Name(group.description));
    arguments += text("Process Group Ranks", group.rank_list);
  }
  return arguments;
}

// Streams of tasks count from 1; those of communication follow, one a lane of a group.
int64_t StreamCount(const DeviceView& view) {
  int64_t count = 0;
  for (size_t i = 0; i < view.device_of_track.size(); ++i) {
    if (view.device_of_track[i] >= view.devices.size()) continue;
    count = std::max<int64_t>(count, view.data->tracks[i].stream_id + 1);
  }
  return count;
}

void AppendCommunications(const DeviceView& view, const KernelWriter& writer, LineBuffer& out) {
  const TraceData& data = *view.data;
  const int64_t first_stream = StreamCount(view) + 1;
  for (size_t i = 0; i < data.communications.size(); ++i) {
    const store::CommunicationOpRow& op = data.communications[i];
    const recipes::CommunicationView& shown = view.communications[i];
    int64_t stream = first_stream + static_cast<int64_t>(shown.lane);
    for (size_t group = 0; group < shown.group; ++group) {
      stream += static_cast<int64_t>(view.group_lanes[group]);
    }
    const std::string name = base::JsonQuote(
        base::Concat("ncclDevKernel_", Capitalised(recipes::HcomKind(data.Name(op.op_type))), " (",
                     data.Name(op.algorithm), ")"));
    const std::string arguments = CollectiveArguments(view, i);
    writer.Append({.name = name,
                   .device = view.devices[shown.device].device_id,
                   .stream = stream,
                   .ts_ns = op.ts,
                   .dur_ns = view.EndNs(op) - op.ts,
                   .correlation = kFirstCorrelation + view.ConnectionOf(op),
                   .launch_slice = op.launch_slice_id,
                   .more_args = arguments},
                  out);
  }
}

}  // namespace

void AddKinetoDevice(const ExportContext& context, int64_t base_ns, TracePieces& pieces) {
  const DeviceView& view = context.view;
  const TraceData& data = *view.data;
  const auto rows = std::make_shared<const FrameworkRows>(data);
  auto quoted = std::make_shared<std::vector<std::string>>();
  for (const store::TaskKindRow& kind : data.kinds) {
    quoted->push_back(base::JsonQuote(data.Name(kind.name)));
  }
  pieces.AddRanges(data.tasks.size(), kTasksPerPiece,
                   [&view, rows, quoted, base_ns](size_t begin, size_t end, LineBuffer& out) {
                     const KernelWriter writer(*view.data, *rows, base_ns);
                     for (size_t i = begin; i < end; ++i) {
                       const store::DeviceTaskRow& task = view.data->tasks[i];
                       writer.Append({.name = (*quoted)[static_cast<size_t>(task.kind_id)],
                                      .device = view.DeviceOfTask(task).device_id,
                                      .stream = view.StreamOf(task) + 1,
                                      .ts_ns = task.ts,
                                      .dur_ns = std::max<int64_t>(task.dur, 0),
                                      .correlation = kFirstCorrelation + view.ConnectionOf(task),
                                      .launch_slice = task.launch_slice_id,
                                      .more_args = ""},
                                     out);
                     }
                   });
  pieces.Add([&view, rows, base_ns](LineBuffer& out) {
    AppendCommunications(view, KernelWriter(*view.data, *rows, base_ns), out);
  });
}

}  // namespace sonde::exporters
