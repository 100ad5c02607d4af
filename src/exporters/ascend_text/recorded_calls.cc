// The layer of host calls where the vendor's interface was recorded: its calls, and the arrows from
// them to the work of the device.
#include <memory>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/host/json_writer.h"
#include "base/strings.h"
#include "exporters/ascend_text/device_rows.h"
#include "exporters/ascend_text/trace_view.h"
#include "exporters/format/layers.h"
#include "exporters/format/task_parts.h"
#include "exporters/format/viewer_times.h"

namespace sonde::exporters {
namespace {

using base::Concat;
using recipes::DeviceView;
using recipes::TraceData;

// "Node@launch"; names of timelines have their layer already.
std::string CallName(std::string_view level, std::string_view name) {
  if (name.find('@') != std::string_view::npos) return std::string(name);
  if (level == "acl") return Concat("AscendCL@", name);
  std::string layer(level.empty() ? "host" : level);
  if (layer[0] >= 'a' && layer[0] <= 'z') layer[0] = static_cast<char>(layer[0] - 'a' + 'A');
  return Concat(layer, "@", name);
}

struct CallRow {
  int64_t pid = 0;
  int64_t tid = 0;
};

CallRow RowOf(const TraceData& data, const store::TrackRow& track) {
  return {LayerPid(data.PidOf(track.process_id), Layer::kHostApi, kHostDevice),
          data.TidOf(track.thread_id)};
}

void AppendRow(const CallRow& row, int64_t ts_ns, LineBuffer& out) {
  out.Append(R"(,"pid":)");
  out.Int(row.pid);
  out.Append(R"(,"tid":)");
  out.Int(row.tid);
  out.Append(R"(,"ts":")");
  out.Microseconds(ts_ns);
}

void AppendNames(const TraceData& data, LineBuffer& out) {
  std::set<int64_t> processes;
  std::set<std::pair<int64_t, int64_t>> threads;
  for (const store::ApiCallRow& call : data.api_calls) {
    const CallRow row = RowOf(data, data.TrackOf(data.Slice(call.slice_id)));
    if (processes.insert(row.pid).second) {
      AppendProcessNames({row.pid, "CANN", "CPU", static_cast<int64_t>(Layer::kHostApi)}, out);
    }
    if (threads.insert({row.pid, row.tid}).second) {
      AppendThreadNames(row.pid, row.tid, ThreadLabel(row.tid), row.tid, out);
    }
  }
}

// By row and start, with durations as viewers need them; the last number is the place in api_calls.
struct DrawnCall {
  const store::ApiCallRow* call = nullptr;
  int64_t dur_ns = 0;
};

std::vector<DrawnCall> DrawnCalls(const TraceData& data) {
  std::unordered_map<int32_t, const store::ApiCallRow*> call_of_slice;
  std::set<int32_t> tracks;
  for (const store::ApiCallRow& call : data.api_calls) {
    call_of_slice.emplace(call.slice_id, &call);
    tracks.insert(data.Slice(call.slice_id).track_id);
  }
  std::vector<DrawnCall> drawn;
  std::vector<RowEvent> times;
  for (const int32_t track : tracks) {
    const size_t first = drawn.size();
    times.clear();
    for (size_t i = data.track_begin[static_cast<size_t>(track)];
         i < data.track_begin[static_cast<size_t>(track) + 1]; ++i) {
      const auto call = call_of_slice.find(data.preorder[i]);
      if (call == call_of_slice.end()) continue;
      const store::SliceRow& slice = data.Slice(data.preorder[i]);
      drawn.push_back({call->second, 0});
      times.push_back({slice.ts, data.EndNs(slice), 0});
    }
    FitDurations(times);
    for (size_t i = 0; i < times.size(); ++i) drawn[first + i].dur_ns = times[i].dur_ns;
  }
  return drawn;
}

void AppendCall(const TraceData& data, const CallArguments& arguments, const DrawnCall& drawn,
                LineBuffer& out) {
  const store::ApiCallRow& call = *drawn.call;
  const store::SliceRow& slice = data.Slice(call.slice_id);
  const CallRow row = RowOf(data, data.TrackOf(slice));
  const std::string_view level = data.Name(call.level);
  const std::string name = CallName(level, data.Name(slice.name));
  out.Append(R"(,{"name":)");
  out.Append(base::JsonQuote(name));
  AppendRow(row, slice.ts, out);
  out.Append(R"(","dur":)");
  out.MicrosecondsShort(drawn.dur_ns);
  out.Append(R"(,"args":{"Thread Id":)");
  out.Int(row.tid);
  out.Append(R"(,"Mode":)");
  out.Append(base::JsonQuote(arguments.Text(slice, CallArguments::kMode, "launch")));
  out.Append(R"(,"level":)");
  out.Append(base::JsonQuote(level));
  out.Append(R"(,"id":)");
  const std::string_view own = std::string_view(name).substr(name.find('@') + 1);
  out.Append(base::JsonQuote(arguments.Text(slice, CallArguments::kId, own)));
  out.Append(R"(,"item_id":)");
  out.Append(base::JsonQuote(arguments.Text(slice, CallArguments::kItem, "0")));
  if (call.connection_id >= 0) {
    out.Append(R"(,"connection_id":)");
    out.Int(call.connection_id);
  }
  out.Append(R"(},"ph":"X"})");
}

void AppendEnd(char phase, int64_t id, const CallRow& row, int64_t ts_ns, LineBuffer& out) {
  out.Append(Concat(R"(,{"name":"HostToDevice)", std::to_string(id), R"(","ph":")",
                    std::string(1, phase), phase == 'f' ? R"(","bp":"e)" : "",
                    R"(","cat":"HostToDevice","id":")", std::to_string(id), "\""));
  AppendRow(row, ts_ns, out);
  out.Append(R"("})");
}

// Rows of the work of devices, by slice; tasks on planes are covered by their operation.
std::unordered_map<int32_t, CallRow> WorkRows(const DeviceView& view,
                                              const CommunicationRows& groups) {
  const TraceData& data = *view.data;
  std::unordered_map<int32_t, CallRow> rows;
  const TaskParts parts(data);
  for (size_t i = 0; i < data.tasks.size(); ++i) {
    const store::DeviceTaskRow& task = data.tasks[i];
    if (task.slice_id < 0 || parts.IsInParts(i) ||
        data.HasTrackKind(data.Slice(task.slice_id), recipes::TrackKind::kCommunicationPlane)) {
      continue;
    }
    rows.emplace(task.slice_id, CallRow{DevicePid(view.DeviceOfTask(task), Layer::kHardware),
                                        view.StreamOf(task)});
  }
  for (size_t i = 0; i < data.communications.size(); ++i) {
    const recipes::CommunicationView& shown = view.communications[i];
    rows.emplace(data.communications[i].slice_id,
                 CallRow{DevicePid(view.devices[shown.device], Layer::kCommunication),
                         groups.OfOperation(shown)});
  }
  return rows;
}

void AppendFlows(const DeviceView& view, const CommunicationRows& groups, LineBuffer& out) {
  const TraceData& data = *view.data;
  const auto rows = WorkRows(view, groups);
  for (const store::FlowRow& flow : data.flows) {
    if (data.Name(flow.kind) != "host_to_device" || flow.slice_out < 0 || flow.slice_in < 0) {
      continue;
    }
    const auto work = rows.find(flow.slice_in);
    const store::SliceRow& call = data.Slice(flow.slice_out);
    if (work == rows.end() || !data.HasTrackKind(call, recipes::TrackKind::kApi)) continue;
    // Several works of one call have numbers of their own.
    const int64_t id = (flow.key << 32) + flow.flow_id;
    AppendEnd('s', id, RowOf(data, data.TrackOf(call)), call.ts, out);
    AppendEnd('f', id, work->second, data.Slice(flow.slice_in).ts, out);
  }
}

}  // namespace

void AddRecordedCalls(const ExportContext& context, const ImportedSlices& imported,
                      TracePieces& pieces) {
  constexpr size_t kCallsPerPiece = 4096;
  const DeviceView& view = context.view;
  const TraceData& data = *view.data;
  const auto groups = std::make_shared<const CommunicationRows>(view, imported.planes);
  const auto calls = std::make_shared<const std::vector<DrawnCall>>(DrawnCalls(data));
  pieces.Add([&data](LineBuffer& out) { AppendNames(data, out); });
  pieces.AddRanges(calls->size(), kCallsPerPiece,
                   [&data, &imported, calls](size_t begin, size_t end, LineBuffer& out) {
                     for (size_t i = begin; i < end; ++i) {
                       AppendCall(data, imported.calls, (*calls)[i], out);
                     }
                   });
  pieces.Add([&view, groups](LineBuffer& out) { AppendFlows(view, *groups, out); });
}

}  // namespace sonde::exporters
