#include "exporters/ascend_text/trace_view.h"

#include <memory>
#include <utility>

#include "base/host/json_writer.h"
#include "base/host/parallel.h"
#include "exporters/format/rest_slices.h"

namespace sonde::exporters {
namespace {

// ,{"name":"<event>","pid":1,"tid":2,"args":{"<key>":
void BeginMetadata(std::string_view event, int64_t pid, int64_t tid, std::string_view key,
                   LineBuffer& out) {
  out.Append(R"(,{"name":")");
  out.Append(event);
  out.Append(R"(","pid":)");
  out.Int(pid);
  out.Append(R"(,"tid":)");
  out.Int(tid);
  out.Append(R"(,"args":{")");
  out.Append(key);
  out.Append(R"(":)");
}

constexpr std::string_view kEndMetadata = R"(},"ph":"M"})";

// The layers as one array.
// The first piece that writes something; a trace without threads of a framework has no names at the
// beginning.
size_t FirstPiece(const TracePieces& layers) {
  size_t first = 0;
  for (; first < layers.size(); ++first) {
    LineBuffer text;
    layers.Run(first, text);
    if (text.size() > 0) break;
  }
  return first;
}

TracePieces AsArray(const std::shared_ptr<const TracePieces>& layers) {
  TracePieces pieces;
  const size_t begin = FirstPiece(*layers);
  // The first event of the file stands without the separator before it.
  pieces.Add([layers, begin](LineBuffer& out) {
    LineBuffer first;
    if (begin < layers->size()) layers->Run(begin, first);
    out.Append('[');
    out.Append(first.text().substr(first.size() == 0 ? 0 : 1));
  });
  for (size_t i = begin + 1; i < layers->size(); ++i) {
    pieces.Add([layers, i](LineBuffer& out) { layers->Run(i, out); });
  }
  pieces.Add([](LineBuffer& out) { out.Append(']'); });
  return pieces;
}

}  // namespace

void AppendProcessNames(const ProcessNames& process, LineBuffer& out) {
  BeginMetadata("process_name", process.pid, 0, "name", out);
  out.Append(base::JsonQuote(process.name));
  out.Append(kEndMetadata);
  BeginMetadata("process_labels", process.pid, 0, "labels", out);
  out.Append(base::JsonQuote(process.label));
  out.Append(kEndMetadata);
  BeginMetadata("process_sort_index", process.pid, 0, "sort_index", out);
  out.Int(process.sort_index);
  out.Append(kEndMetadata);
}

void AppendThreadNames(int64_t pid, int64_t tid, std::string_view name, int64_t sort_index,
                       LineBuffer& out) {
  BeginMetadata("thread_name", pid, tid, "name", out);
  out.Append(base::JsonQuote(name));
  out.Append(kEndMetadata);
  BeginMetadata("thread_sort_index", pid, tid, "sort_index", out);
  out.Int(sort_index);
  out.Append(kEndMetadata);
}

std::string ThreadLabel(int64_t tid) { return "Thread " + std::to_string(tid); }

void AppendFlowEnd(const FlowEnd& end, int64_t id, LineBuffer& out) {
  out.Append(end.phase == 's' ? R"(,{"ph":"s","bp":"e","name":")"
                              : R"(,{"ph":"f","bp":"e","name":")");
  out.Append(end.name);
  out.Append(R"(","id":)");
  out.Int(id);
  out.Append(R"(,"pid":)");
  out.Int(end.pid);
  out.Append(R"(,"tid":)");
  out.Int(end.tid);
  out.Append(R"(,"ts":")");
  out.Microseconds(end.ts_ns);
  out.Append(R"(","cat":")");
  out.Append(end.category);
  out.Append(R"("})");
}

Result<ImportedSlices> ImportedSlices::Load(const ExportContext& context) {
  const recipes::TraceData& data = context.data();
  ImportedSlices imported;
  SONDE_ASSIGN_OR_RETURN(imported.calls, CallArguments::Load(context.store, data));
  imported.rest = RestSlices(context.view);
  // Tasks on planes are written as tasks, too, and so are no rest.
  const bool has_planes = !data.SlicesOfKinds({recipes::TrackKind::kCommunicationPlane}).empty();
  if (imported.rest.empty() && !has_planes) return imported;
  SONDE_ASSIGN_OR_RETURN(
      imported.arguments,
      SliceArguments::Load(context.store, {"communication_plane", "thread", "device_layer",
                                           "os_runtime", "stream", "communication_group"}));
  imported.planes = PlaneSlices(context.view, imported.arguments);
  std::erase_if(imported.rest, [&](int32_t id) {
    return data.HasTrackKind(data.Slice(id), recipes::TrackKind::kCommunicationPlane);
  });
  for (const store::FlowRow& flow : data.flows) {
    if (data.Name(flow.kind) != "enqueue_dequeue") continue;
    imported.queue_numbers.emplace(flow.slice_out, flow.key);
    imported.queue_numbers.emplace(flow.slice_in, flow.key);
  }
  return imported;
}

TracePieces TraceViewPieces(const ExportContext& context, const ImportedSlices& imported) {
  const auto layers = std::make_shared<TracePieces>();
  TracePieces device;
  TracePieces host;
  base::TaskGroup preparing(context.threads);
  preparing.Run([&] { AddDeviceLayers(context, imported, /*with_operators=*/true, device); });
  preparing.Run([&] { AddHostLayer(context, imported, host); });
  AddPythonLayers(context, imported, *layers);
  preparing.Wait();
  layers->Append(std::move(device));
  layers->Append(std::move(host));
  AddRestLayer(context, imported, *layers);
  return AsArray(layers);
}

TracePieces DeviceTracePieces(const ExportContext& context, const ImportedSlices& imported) {
  const auto layers = std::make_shared<TracePieces>();
  AddDeviceLayers(context, imported, /*with_operators=*/false, *layers);
  AddHostLayer(context, imported, *layers);
  AddCounters(context, /*with_modules=*/false, *layers);
  return AsArray(layers);
}

}  // namespace sonde::exporters
