// Slices that no other layer has: of units other than the cores, of system calls etc.
#include <set>
#include <string>
#include <utility>

#include "base/host/json_writer.h"
#include "base/strings.h"
#include "exporters/ascend_text/trace_view.h"
#include "exporters/format/layers.h"

namespace sonde::exporters {
namespace {

using recipes::TraceData;

// A process a kind of track, a row a track.
struct RestPlace {
  int64_t pid = 0;
  std::string_view name;
  bool is_device = false;
};

RestPlace PlaceOf(const TraceData& data, const store::TrackRow& track) {
  const bool is_device = track.device_id >= 0 ||
                         data.IsOfKind(track, recipes::TrackKind::kDeviceLayer) ||
                         data.IsOfKind(track, recipes::TrackKind::kStream);
  const Layer layer = is_device ? Layer::kOtherDevice : Layer::kOtherHost;
  const int64_t device = is_device && track.device_id >= 0 ? track.device_id : kHostDevice;
  return {LayerPid(data.PidOf(track.process_id), layer, device),
          data.IsOfKind(track, recipes::TrackKind::kOsRuntime) ? "OS Runtime API" : "Other",
          is_device};
}

void AppendPlace(const TraceData& data, const store::TrackRow& track,
                 std::set<std::pair<int64_t, int64_t>>& named, LineBuffer& out) {
  const RestPlace place = PlaceOf(data, track);
  if (named.insert({place.pid, -1}).second) {
    AppendProcessNames(
        {place.pid, place.name, place.is_device ? "NPU" : "CPU", (place.pid >> 5) & 31}, out);
  }
  if (!named.insert({place.pid, track.track_id}).second) return;
  AppendThreadNames(place.pid, track.track_id, data.Name(track.name), track.track_id, out);
}

}  // namespace

void AddRestLayer(const ExportContext& context, const ImportedSlices& imported,
                  TracePieces& pieces) {
  const TraceData& data = context.data();
  pieces.Add([&data, &imported](LineBuffer& out) {
    std::set<std::pair<int64_t, int64_t>> named;
    for (const int32_t id : imported.rest) {
      const store::SliceRow& slice = data.Slice(id);
      const store::TrackRow& track = data.TrackOf(slice);
      if (data.IsOfKind(track, recipes::TrackKind::kThread)) continue;  // lies among the operators
      AppendPlace(data, track, named, out);
      out.Append(R"(,{"ph":"X","name":)");
      out.Append(base::JsonQuote(data.Name(slice.name)));
      out.Append(R"(,"pid":)");
      out.Int(PlaceOf(data, track).pid);
      out.Append(R"(,"tid":)");
      out.Int(track.track_id);
      out.Append(R"(,"ts":")");
      out.Microseconds(slice.ts);
      out.Append(R"(","dur":)");
      out.MicrosecondsShort(data.DurationNs(slice));
      out.Append(R"(,"cat":)");
      out.Append(base::JsonQuote(data.Name(slice.category)));
      out.Append(R"(,"args":)");
      out.Append(imported.arguments.Json(id));
      out.Append("}");
    }
  });
}

}  // namespace sonde::exporters
