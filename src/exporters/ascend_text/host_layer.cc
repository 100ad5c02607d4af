// The layer of host calls, from level 1: what launched device work, with HostToDevice flows.
#include <algorithm>
#include <memory>
#include <set>

#include "base/host/json_writer.h"
#include "base/strings.h"
#include "exporters/ascend_text/device_rows.h"
#include "exporters/ascend_text/trace_view.h"
#include "exporters/format/framework_rows.h"
#include "exporters/format/layers.h"
#include "exporters/format/viewer_times.h"

namespace sonde::exporters {
namespace {

using recipes::CommunicationView;
using recipes::DeviceView;
using recipes::ProfilerLevel;
using recipes::TraceData;

constexpr size_t kCallsPerPiece = 4096;

// A call of the host interface: what launched a task or operation.
struct HostCall {
  bool is_communication = false;
  uint32_t index = 0;  // into data.tasks or data.communications
  int32_t launch_slice = store::kNone;
  int64_t dur_ns = 0;
};

// By row and start, with durations as viewers need them.
std::vector<HostCall> HostCalls(const TraceData& data) {
  std::vector<HostCall> calls;
  for (uint32_t i = 0; i < data.tasks.size(); ++i) {
    if (data.tasks[i].launch_slice_id < 0) continue;
    calls.push_back({false, i, data.tasks[i].launch_slice_id, 0});
  }
  for (uint32_t i = 0; i < data.communications.size(); ++i) {
    if (data.communications[i].launch_slice_id < 0) continue;
    calls.push_back({true, i, data.communications[i].launch_slice_id, 0});
  }
  std::stable_sort(calls.begin(), calls.end(), [&](const HostCall& a, const HostCall& b) {
    const store::SliceRow& x = data.Slice(a.launch_slice);
    const store::SliceRow& y = data.Slice(b.launch_slice);
    if (x.track_id != y.track_id) return x.track_id < y.track_id;
    if (x.ts != y.ts) return x.ts < y.ts;
    return data.EndNs(x) > data.EndNs(y);
  });
  std::vector<RowEvent> times;
  for (size_t begin = 0; begin < calls.size();) {
    const int32_t track = data.Slice(calls[begin].launch_slice).track_id;
    size_t end = begin;
    times.clear();
    for (; end < calls.size() && data.Slice(calls[end].launch_slice).track_id == track; ++end) {
      const store::SliceRow& launch = data.Slice(calls[end].launch_slice);
      times.push_back({launch.ts, data.EndNs(launch), 0});
    }
    FitDurations(times);
    for (const RowEvent& time : times) calls[begin++].dur_ns = time.dur_ns;
  }
  return calls;
}

void AppendHostCall(const DeviceView& view, const FrameworkRows& rows, const HostCall& call,
                    LineBuffer& out) {
  const TraceData& data = *view.data;
  const store::SliceRow& launch = data.Slice(call.launch_slice);
  const int64_t tid = rows.OfTrack(launch.track_id);
  const std::string_view name = call.is_communication
                                    ? std::string_view(view.communications[call.index].type)
                                    : data.Name(launch.name);
  out.Append(R"(,{"name":)");
  out.Append(
      base::JsonQuote(base::Concat(call.is_communication ? "Communication@" : "Node@", name)));
  out.Append(R"(,"pid":)");
  out.Int(LayerPid(data.PidOf(data.TrackOf(launch).process_id), Layer::kHostApi, kHostDevice));
  out.Append(R"(,"tid":)");
  out.Int(tid);
  out.Append(R"(,"ts":")");
  out.Microseconds(launch.ts);
  out.Append(R"(","dur":)");
  out.MicrosecondsShort(call.dur_ns);
  out.Append(R"(,"args":{"Thread Id":)");
  out.Int(tid);
  out.Append(call.is_communication ? R"(,"Mode":"launch","level":"communication","id":)"
                                   : R"(,"Mode":"launch","level":"node","id":)");
  out.Append(base::JsonQuote(name));
  out.Append(R"(,"item_id":"0","connection_id":)");
  out.Int(call.is_communication ? view.ConnectionOf(data.communications[call.index])
                                : view.ConnectionOf(data.tasks[call.index]));
  out.Append(R"(},"ph":"X"})");
}

void AppendHostToDevice(char phase, int64_t connection, int64_t pid, int64_t tid, int64_t ts_ns,
                        LineBuffer& out) {
  const int64_t id = connection << 32;
  out.Append(R"(,{"name":"HostToDevice)");
  out.Int(id);
  out.Append(phase == 's' ? R"(","ph":"s","cat":"HostToDevice","id":")"
                          : R"(","ph":"f","bp":"e","cat":"HostToDevice","id":")");
  out.Int(id);
  out.Append(R"(","pid":)");
  out.Int(pid);
  out.Append(R"(,"tid":)");
  out.Int(tid);
  out.Append(R"(,"ts":")");
  out.Microseconds(ts_ns);
  out.Append(R"("})");
}

void AppendHostFlow(const DeviceView& view, const FrameworkRows& rows,
                    const CommunicationRows& groups, const HostCall& call, LineBuffer& out) {
  const TraceData& data = *view.data;
  const store::SliceRow& launch = data.Slice(call.launch_slice);
  const int64_t pid =
      LayerPid(data.PidOf(data.TrackOf(launch).process_id), Layer::kHostApi, kHostDevice);
  const int64_t tid = rows.OfTrack(launch.track_id);
  if (call.is_communication) {
    const store::CommunicationOpRow& op = data.communications[call.index];
    const CommunicationView& shown = view.communications[call.index];
    AppendHostToDevice('s', view.ConnectionOf(op), pid, tid, launch.ts, out);
    AppendHostToDevice('f', view.ConnectionOf(op),
                       DevicePid(view.devices[shown.device], Layer::kCommunication),
                       groups.OfOperation(shown), op.ts, out);
  } else {
    const store::DeviceTaskRow& task = data.tasks[call.index];
    AppendHostToDevice('s', view.ConnectionOf(task), pid, tid, launch.ts, out);
    AppendHostToDevice('f', view.ConnectionOf(task),
                       DevicePid(view.DeviceOfTask(task), Layer::kHardware), view.StreamOf(task),
                       task.ts, out);
  }
}

void AppendHostApiNames(const DeviceView& view, const FrameworkRows& rows, LineBuffer& out) {
  const TraceData& data = *view.data;
  std::vector<bool> used(data.tracks.size());
  const auto note = [&](int32_t slice) {
    if (slice >= 0) used[static_cast<size_t>(data.Slice(slice).track_id)] = true;
  };
  for (const auto& task : data.tasks) note(task.launch_slice_id);
  for (const auto& op : data.communications) note(op.launch_slice_id);
  std::set<int64_t> processes;
  std::set<std::pair<int64_t, int64_t>> named;
  for (size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) continue;
    const store::TrackRow& track = data.tracks[i];
    const int64_t pid = LayerPid(data.PidOf(track.process_id), Layer::kHostApi, kHostDevice);
    if (processes.insert(pid).second) {
      AppendProcessNames({pid, "CANN", "CPU", static_cast<int64_t>(Layer::kHostApi)}, out);
    }
    const int64_t row = rows.OfTrack(track.track_id);
    if (!named.insert({pid, row}).second) continue;
    const int64_t tid = data.TidOf(track.thread_id);
    AppendThreadNames(pid, row, "Thread " + std::to_string(tid), tid, out);
  }
}

}  // namespace

void AddHostLayer(const ExportContext& context, const ImportedSlices& imported,
                  TracePieces& pieces) {
  const DeviceView& view = context.view;
  if (!view.data->api_calls.empty()) return AddRecordedCalls(context, imported, pieces);
  const ProfilerLevel level = view.settings.level;
  if (level != ProfilerLevel::kLevel1 && level != ProfilerLevel::kLevel2) return;
  const auto rows = std::make_shared<const FrameworkRows>(*view.data);
  const auto groups = std::make_shared<const CommunicationRows>(view, imported.planes);
  const auto calls = std::make_shared<const std::vector<HostCall>>(HostCalls(*view.data));
  pieces.Add([&view, rows](LineBuffer& out) { AppendHostApiNames(view, *rows, out); });
  const auto add = [&](const auto& append) {
    pieces.AddRanges(calls->size(), kCallsPerPiece,
                     [calls, append](size_t begin, size_t end, LineBuffer& out) {
                       for (size_t i = begin; i < end; ++i) append((*calls)[i], out);
                     });
  };
  add([&view, rows](const HostCall& call, LineBuffer& out) {
    AppendHostCall(view, *rows, call, out);
  });
  add([&view, rows, groups](const HostCall& call, LineBuffer& out) {
    AppendHostFlow(view, *rows, *groups, call, out);
  });
}

}  // namespace sonde::exporters
