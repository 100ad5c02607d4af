#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "base/host/json_writer.h"
#include "base/strings.h"
#include "exporters/ascend_text/device_rows.h"
#include "exporters/ascend_text/trace_view.h"
#include "exporters/format/framework_rows.h"
#include "exporters/format/layers.h"
#include "exporters/format/task_parts.h"
#include "exporters/format/viewer_times.h"
#include "recipes/communication/naming.h"

namespace sonde::exporters {
namespace {

using recipes::CommunicationView;
using recipes::Device;
using recipes::DeviceView;
using recipes::Interval;
using recipes::TraceData;

constexpr size_t kTasksPerPiece = 1024;
constexpr size_t kIntervalsPerPiece = 2048;
constexpr int64_t kNone32 = 4294967295;  // "none" in the ecosystem's files

void AppendLayer(const Device& device, Layer layer, std::string_view name, LineBuffer& out) {
  AppendProcessNames(
      {DevicePid(device, layer), name, DeviceLabel(device), static_cast<int64_t>(layer)}, out);
}

void AppendDeviceNames(const DeviceView& view, const CommunicationRows& rows,
                       const std::vector<PlaneSlice>& planes, LineBuffer& out) {
  for (const Device& device : view.devices) {
    AppendLayer(device, Layer::kHardware, "Ascend Hardware", out);
    if (!view.communications.empty() || !planes.empty()) {
      AppendLayer(device, Layer::kCommunication, "Communication", out);
    }
    AppendLayer(device, Layer::kOverlap, "Overlap Analysis", out);
    const int64_t pid = DevicePid(device, Layer::kOverlap);
    AppendThreadNames(pid, 0, "Computing", 0, out);
    AppendThreadNames(pid, 1, "Communication", 1, out);
    AppendThreadNames(pid, 2, "Communication(Not Overlapped)", 2, out);
    AppendThreadNames(pid, 3, "Free", 3, out);
  }
  for (size_t track = 0; track < view.device_of_track.size(); ++track) {
    if (view.device_of_track[track] >= view.devices.size()) continue;
    const int64_t stream = view.data->tracks[track].stream_id;
    const Device& device = view.devices[view.device_of_track[track]];
    AppendThreadNames(DevicePid(device, Layer::kHardware), stream,
                      "Stream " + std::to_string(stream), stream, out);
  }
  std::set<std::pair<size_t, int64_t>> named;
  for (const CommunicationView& op : view.communications) {
    const int64_t tid = rows.OfOperation(op);
    if (!named.insert({op.device, tid}).second) continue;
    AppendThreadNames(DevicePid(view.devices[op.device], Layer::kCommunication), tid,
                      base::Concat("Group ", op.group_name, " Communication"), tid, out);
  }
  for (const PlaneSlice& plane : planes) {
    const int64_t tid = rows.OfPlane(plane);
    if (!named.insert({plane.device, tid}).second) continue;
    AppendThreadNames(DevicePid(view.devices[plane.device], Layer::kCommunication), tid,
                      base::Concat("Plane ", std::to_string(plane.plane)), tid, out);
  }
}

// Constant parts of the events of a task: by kind and by stream.
struct TaskFragments {
  std::vector<std::string> begin;     // ,{"name":"aten::add"
  std::vector<std::string> by_type;   // the same, for slices named elsewhere
  std::vector<std::string> type;      // ,"args":{"Task Type":"CPU","Physic Stream Id":
  std::vector<std::string> end;       // ,"connection_id":    after the number of the task
  std::vector<std::string> hardware;  // ,"pid":1,"tid":2,"ts":"    by track
  std::vector<std::string> flow_row;  // ,"pid":1,"tid":2,"ts":"    of launching threads
  TaskParts parts;

  explicit TaskFragments(const DeviceView& view) : parts(*view.data) {
    const TraceData& data = *view.data;
    const FrameworkRows rows(data);
    for (const store::TaskKindRow& kind : data.kinds) {
      begin.push_back(base::Concat(R"(,{"name":)", base::JsonQuote(data.Name(kind.name))));
      by_type.push_back(base::Concat(R"(,{"name":)", base::JsonQuote(TaskType(data, kind))));
      const std::string task_type = base::Concat(
          R"("Task Type":)", base::JsonQuote(TaskType(data, kind)), R"(,"Physic Stream Id":)");
      // A CPU has no graphs, batches and subtasks.
      if (data.Name(kind.core) == "CPU") {
        type.push_back(base::Concat(R"(,"args":{)", task_type));
        end.emplace_back(R"(,"connection_id":)");
      } else {
        const int64_t model = kind.model_id < 0 ? kNone32 : kind.model_id;
        type.push_back(
            base::Concat(R"(,"args":{"Model Id":)", std::to_string(model), ",", task_type));
        const int64_t part = kind.context_id < 0 ? kNone32 : kind.context_id;
        end.push_back(base::Concat(R"(,"Batch Id":0,"Subtask Id":)", std::to_string(part),
                                   R"(,"connection_id":)"));
      }
    }
    for (size_t i = 0; i < data.tracks.size(); ++i) {
      const store::TrackRow& track = data.tracks[i];
      // Operators may lie on the track of their tasks: both are asked for then.
      flow_row.push_back(Row(data.PidOf(track.process_id), rows.OfTrack(track.track_id)));
      const bool is_stream = view.device_of_track[i] < view.devices.size();
      hardware.push_back(
          is_stream ? Row(DevicePid(view.devices[view.device_of_track[i]], Layer::kHardware),
                          track.stream_id)
                    : std::string());
    }
  }

  static std::string Row(int64_t pid, int64_t tid) {
    return base::Concat(R"(,"pid":)", std::to_string(pid), R"(,"tid":)", std::to_string(tid),
                        R"(,"ts":")");
  }

  static std::string_view TaskType(const TraceData& data, const store::TaskKindRow& kind) {
    const std::string_view type = data.Name(kind.task_type);
    return type.empty() ? data.Name(kind.core) : type;
  }
};

// s or f of torch_to_npu; `row` is the constant part between id and time.
void AppendTaskFlow(char phase, int64_t id, std::string_view row, int64_t ts_ns, LineBuffer& out) {
  out.Append(phase == 's' ? R"(,{"ph":"s","bp":"e","name":"torch_to_npu","id":)"
                          : R"(,{"ph":"f","bp":"e","name":"torch_to_npu","id":)");
  out.Int(id);
  out.Append(row);
  out.Microseconds(ts_ns);
  out.Append(R"(","cat":"async_npu"})");
}

// Durations of the tasks as viewers need them, parallel to data.tasks. Only what is over before the
// next one of its stream begins is fitted: parts of a task run within it, and in parallel.
std::vector<int64_t> FitTasks(const TraceData& data) {
  std::vector<int64_t> durs_ns(data.tasks.size());
  std::vector<int64_t> next_ns(data.tracks.size(), INT64_MAX);  // by stream
  for (size_t i = data.tasks.size(); i-- > 0;) {
    const store::DeviceTaskRow& task = data.tasks[i];
    int64_t& next = next_ns[static_cast<size_t>(task.track_id)];
    const int64_t dur_ns = task.dur < 0 ? data.last_ns - task.ts : task.dur;
    durs_ns[i] = std::max<int64_t>(dur_ns, 1);
    if (next != INT64_MAX && dur_ns <= next - task.ts) {
      durs_ns[i] = std::min(durs_ns[i], ViewerNs(next) - ViewerNs(task.ts));
    }
    next = task.ts;
  }
  return durs_ns;
}

void AppendTasks(const DeviceView& view, const TaskFragments& fragments,
                 const std::vector<int64_t>& durs_ns, size_t begin, size_t end, LineBuffer& out) {
  const TraceData& data = *view.data;
  for (size_t i = begin; i < end; ++i) {
    if (fragments.parts.IsInParts(i)) continue;  // its parts are shown
    const store::DeviceTaskRow& task = data.tasks[i];
    const auto kind = static_cast<size_t>(task.kind_id);
    const auto track = static_cast<size_t>(task.track_id);
    const bool is_on_plane =
        task.slice_id >= 0 &&
        data.HasTrackKind(data.Slice(task.slice_id), recipes::TrackKind::kCommunicationPlane);
    out.Append(is_on_plane ? fragments.by_type[kind] : fragments.begin[kind]);
    out.Append(fragments.hardware[track]);
    out.Microseconds(task.ts);
    out.Append(R"(","dur":)");
    out.MicrosecondsShort(durs_ns[i]);
    out.Append(fragments.type[kind]);
    out.Int(data.tracks[track].stream_id);
    out.Append(R"(,"Task Id":)");
    out.Int(task.queue_number >= 0 ? task.queue_number : task.task_id);
    out.Append(fragments.end[kind]);
    out.Int(view.ConnectionOf(task));
    out.Append(R"(},"ph":"X"})");
  }
}

// After all tasks: a viewer binds the end of a flow to the slice open at its time.
void AppendTaskFlows(const DeviceView& view, const TaskFragments& fragments, size_t begin,
                     size_t end, LineBuffer& out) {
  const TraceData& data = *view.data;
  for (size_t i = begin; i < end; ++i) {
    const store::DeviceTaskRow& task = data.tasks[i];
    if (task.launch_slice_id < 0 || fragments.parts.IsInParts(i)) continue;
    const store::SliceRow& launch = data.Slice(task.launch_slice_id);
    AppendTaskFlow('s', view.task_flow_ns[i],
                   fragments.flow_row[static_cast<size_t>(launch.track_id)], launch.ts, out);
    AppendTaskFlow('f', view.task_flow_ns[i],
                   fragments.hardware[static_cast<size_t>(task.track_id)], task.ts, out);
  }
}

// ,"pid":1,"tid":2,"ts":"    of the row of an operation
std::string CommunicationLane(const DeviceView& view, size_t device, int64_t tid) {
  return base::Concat(R"(,"pid":)",
                      std::to_string(DevicePid(view.devices[device], Layer::kCommunication)),
                      R"(,"tid":)", std::to_string(tid), R"(,"ts":")");
}

// Durations as viewers need them; operations of a row do not overlap.
std::vector<int64_t> FitCommunications(const DeviceView& view, const CommunicationRows& rows) {
  const auto& ops = view.data->communications;
  std::vector<int64_t> durs_ns(ops.size());
  std::map<std::pair<size_t, int64_t>, int64_t> next_ns;  // by device and row
  for (size_t i = ops.size(); i-- > 0;) {
    const CommunicationView& shown = view.communications[i];
    const auto [next, is_last] =
        next_ns.try_emplace({shown.device, rows.OfOperation(shown)}, INT64_MAX);
    const int64_t start_ns = ViewerNs(ops[i].ts);
    durs_ns[i] =
        std::min(std::max<int64_t>(view.EndNs(ops[i]) - ops[i].ts, 1), next->second - start_ns);
    next->second = start_ns;
  }
  return durs_ns;
}

void AppendCommunications(const DeviceView& view, const CommunicationRows& rows, LineBuffer& out) {
  const TraceData& data = *view.data;
  const std::vector<int64_t> durs_ns = FitCommunications(view, rows);
  for (size_t i = 0; i < data.communications.size(); ++i) {
    const store::CommunicationOpRow& op = data.communications[i];
    const CommunicationView& shown = view.communications[i];
    out.Append(R"(,{"name":)");
    out.Append(base::JsonQuote(shown.name));
    out.Append(CommunicationLane(view, shown.device, rows.OfOperation(shown)));
    out.Microseconds(op.ts);
    out.Append(R"(","dur":)");
    out.MicrosecondsShort(durs_ns[i]);
    out.Append(R"(,"args":{"rank_size":)");
    out.Int(op.rank_size);
    out.Append(R"(,"connection_id":)");
    out.Int(view.ConnectionOf(op));
    out.Append(R"(,"model id":4294967295,"data_type":")");
    out.Append(recipes::HcclDataType(data.Name(op.data_type)));
    out.Append(R"(","alg_type":)");
    out.Append(base::JsonQuote(data.Name(op.algorithm)));
    out.Append(R"(,"count":)");
    out.Int(op.count);
    out.Append(R"(,"relay":"no","retry":"no"},"ph":"X"})");
  }
}

// All that the device reported of a transfer or wait, and what identifies its task, which databases
// have in the task's own row: `{"stream id":4,...}`.
std::string PlaneArguments(const DeviceView& view, const PlaneSlice& plane,
                           const SliceArguments& arguments) {
  const TraceData& data = *view.data;
  std::string known = arguments.Json(plane.slice_id);
  std::string added;
  const auto add = [&](std::string_view key, const std::string& value) {
    if (!arguments.Text(plane.slice_id, key).empty()) return;
    added += base::Concat(added.empty() ? "" : ",", "\"", key, "\":", value);
  };
  if (plane.task >= 0) {
    const store::DeviceTaskRow& task = data.tasks[static_cast<size_t>(plane.task)];
    const store::TaskKindRow& kind = data.kinds[static_cast<size_t>(task.kind_id)];
    add("stream id", std::to_string(view.StreamOf(task)));
    add("task id", std::to_string(task.queue_number >= 0 ? task.queue_number : task.task_id));
    add("context id", std::to_string(kind.context_id < 0 ? kNone32 : kind.context_id));
    add("model id", std::to_string(kind.model_id < 0 ? kNone32 : kind.model_id));
  }
  const store::SliceRow& slice = data.Slice(plane.slice_id);
  const auto bytes = arguments.Int(plane.slice_id, "size(Byte)");
  if (bytes && data.DurationNs(slice) > 0) {
    add("bandwidth(GB/s)", base::PythonDoubleText(static_cast<double>(*bytes) /
                                                  static_cast<double>(data.DurationNs(slice))));
  }
  if (added.empty()) return known;
  const bool is_empty = known == "{}";
  return base::Concat("{", added, is_empty ? "" : ",", std::string_view(known).substr(1));
}

// Waits and transfers, with all that the device reported of them.
void AppendPlanes(const DeviceView& view, const CommunicationRows& rows,
                  const std::vector<PlaneSlice>& planes, const SliceArguments& arguments,
                  LineBuffer& out) {
  const TraceData& data = *view.data;
  for (const PlaneSlice& plane : planes) {
    const store::SliceRow& slice = data.Slice(plane.slice_id);
    out.Append(R"(,{"name":)");
    out.Append(base::JsonQuote(data.Name(slice.name)));
    out.Append(CommunicationLane(view, plane.device, rows.OfPlane(plane)));
    out.Microseconds(slice.ts);
    out.Append(R"(","dur":)");
    out.MicrosecondsShort(data.DurationNs(slice));
    out.Append(R"(,"args":)");
    out.Append(PlaneArguments(view, plane, arguments));
    out.Append(R"(,"ph":"X"})");
  }
}

void AppendCommunicationFlows(const DeviceView& view, const TaskFragments& fragments,
                              const CommunicationRows& rows, LineBuffer& out) {
  const TraceData& data = *view.data;
  for (size_t i = 0; i < data.communications.size(); ++i) {
    const store::CommunicationOpRow& op = data.communications[i];
    if (op.launch_slice_id < 0) continue;
    const store::SliceRow& launch = data.Slice(op.launch_slice_id);
    AppendTaskFlow('s', view.communication_flow_ns[i],
                   fragments.flow_row[static_cast<size_t>(launch.track_id)], launch.ts, out);
    const CommunicationView& shown = view.communications[i];
    AppendTaskFlow('f', view.communication_flow_ns[i],
                   CommunicationLane(view, shown.device, rows.OfOperation(shown)), op.ts, out);
  }
}

// Duration of an interval as viewers need it: they are disjoint.
int64_t FitInterval(const std::vector<Interval>& intervals, size_t i) {
  const int64_t dur_ns = intervals[i].end_ns - intervals[i].start_ns;
  if (i + 1 == intervals.size()) return dur_ns;
  return std::min(dur_ns, ViewerNs(intervals[i + 1].start_ns) - ViewerNs(intervals[i].start_ns));
}

void AddIntervals(std::string_view name, int64_t pid, int64_t tid,
                  const std::vector<Interval>& intervals, TracePieces& pieces) {
  const std::string begin = base::Concat(R"(,{"name":")", name, R"(","pid":)", std::to_string(pid),
                                         R"(,"tid":)", std::to_string(tid), R"(,"ts":")");
  pieces.AddRanges(intervals.size(), kIntervalsPerPiece,
                   [begin, &intervals](size_t first, size_t last, LineBuffer& out) {
                     for (size_t i = first; i < last; ++i) {
                       out.Append(begin);
                       out.Microseconds(intervals[i].start_ns);
                       out.Append(R"(","dur":)");
                       out.MicrosecondsShort(FitInterval(intervals, i));
                       out.Append(R"(,"ph":"X"})");
                     }
                   });
}

}  // namespace

void AddDeviceLayers(const ExportContext& context, const ImportedSlices& imported,
                     bool with_operators, TracePieces& pieces) {
  const DeviceView& view = context.view;
  if (view.devices.empty()) return;
  const TraceData& data = *view.data;
  const auto rows = std::make_shared<const CommunicationRows>(view, imported.planes);
  pieces.Add([&view, rows, &imported](LineBuffer& out) {
    AppendDeviceNames(view, *rows, imported.planes, out);
  });
  const auto fragments = std::make_shared<const TaskFragments>(view);
  const auto durs_ns = std::make_shared<const std::vector<int64_t>>(FitTasks(data));
  pieces.AddRanges(data.tasks.size(), kTasksPerPiece,
                   [&view, fragments, durs_ns](size_t begin, size_t end, LineBuffer& out) {
                     AppendTasks(view, *fragments, *durs_ns, begin, end, out);
                   });
  pieces.Add([&view, rows](LineBuffer& out) { AppendCommunications(view, *rows, out); });
  pieces.Add([&view, rows, &imported](LineBuffer& out) {
    AppendPlanes(view, *rows, imported.planes, imported.arguments, out);
  });
  if (with_operators) {
    pieces.AddRanges(data.tasks.size(), kTasksPerPiece,
                     [&view, fragments](size_t begin, size_t end, LineBuffer& out) {
                       AppendTaskFlows(view, *fragments, begin, end, out);
                     });
    pieces.Add([&view, fragments, rows](LineBuffer& out) {
      AppendCommunicationFlows(view, *fragments, *rows, out);
    });
  }
  for (const Device& device : view.devices) {
    const int64_t pid = DevicePid(device, Layer::kOverlap);
    AddIntervals("Computing", pid, 0, device.overlap.computing, pieces);
    AddIntervals("Communication", pid, 1, device.overlap.communication, pieces);
    AddIntervals("Communication(Not Overlapped)", pid, 2, device.overlap.not_overlapped, pieces);
    AddIntervals("Free", pid, 3, device.overlap.free, pieces);
  }
}

}  // namespace sonde::exporters
