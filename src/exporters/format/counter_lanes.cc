#include "exporters/format/counter_lanes.h"

#include <algorithm>

#include "base/host/json_writer.h"
#include "base/strings.h"
#include "exporters/format/layers.h"
#include "importers/ascend/counter_tables.h"

namespace sonde::exporters {
namespace {

using recipes::TraceData;

// That of the trace's work, for counters whose source does not name one.
int64_t UsualDevice(const TraceData& data) {
  int64_t device = -1;
  for (const store::TrackRow& track : data.tracks) {
    if (track.device_id >= 0 && (device < 0 || track.device_id < device)) device = track.device_id;
  }
  return std::max<int64_t>(device, 0);
}

}  // namespace

CounterLanes::CounterLanes(const TraceData& data) {
  lanes_.resize(data.tracks.size());
  const int64_t usual_device = UsualDevice(data);
  for (const store::TrackRow& track : data.tracks) {
    if (!data.IsOfKind(track, recipes::TrackKind::kCounter)) continue;
    const auto shown = importers::CounterOfTimeline(data.Name(track.name));
    Lane& lane = lanes_[static_cast<size_t>(track.track_id)];
    lane.name = base::JsonQuote(shown.name);
    lane.value_key = base::Concat("{", base::JsonQuote(shown.key), ":");
    lane.value_end = base::Concat(shown.more, "}");
    lane.factor = shown.factor;
    lane.pid = data.PidOf(track.process_id);
    lane.is_of_module = data.Name(track.name).starts_with("NPU Module ");
    if (shown.process.empty()) continue;
    const int64_t device = !shown.is_device       ? kHostDevice
                           : track.device_id >= 0 ? track.device_id
                                                  : usual_device;
    const auto layer = static_cast<Layer>(shown.sort_index);
    const Process process{.pid = LayerPid(lane.pid, layer, device),
                          .name = shown.process,
                          .is_device = shown.is_device,
                          .device = device,
                          .sort_index = shown.sort_index};
    lane.pid = process.pid;
    const auto known = std::ranges::find(processes_, process.pid, &Process::pid);
    lane.process = static_cast<size_t>(known - processes_.begin());
    if (known == processes_.end()) processes_.push_back(process);
  }
}

void AppendCounterValue(const CounterLanes::Lane& lane, double value, LineBuffer& out) {
  base::NumberBuffer number;
  const double shown = value * lane.factor;
  const bool is_finite = shown - shown == 0;
  out.Append(lane.value_key);
  out.Append(is_finite ? base::FormatPythonDouble(shown, number) : "0");
  out.Append(lane.value_end);
}

}  // namespace sonde::exporters
