#include "exporters/format/counter_lanes.h"

#include <algorithm>
#include <array>

#include "base/host/json_writer.h"
#include "base/strings.h"
#include "exporters/format/layers.h"

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

// Whether a process has rows other than counters, by its number.
std::vector<bool> HaveOtherRows(const TraceData& data) {
  std::vector<bool> have(data.processes.size());
  for (const store::TrackRow& track : data.tracks) {
    const auto process = static_cast<size_t>(track.process_id);  // a large one where it is none
    if (process < have.size() && !data.IsOfKind(track, recipes::TrackKind::kCounter)) {
      have[process] = true;
    }
  }
  return have;
}

}  // namespace

CounterLanes::CounterLanes(const TraceData& data)
    : usual_device_(UsualDevice(data)), have_other_rows_(HaveOtherRows(data)) {
  lanes_.resize(data.tracks.size());
  for (const store::TrackRow& track : data.tracks) {
    if (!data.IsOfKind(track, recipes::TrackKind::kCounter)) continue;
    auto shown = importers::CounterOfTimeline(data.Name(track.name));
    Lane& lane = lanes_[static_cast<size_t>(track.track_id)];
    lane.name = base::JsonQuote(shown.name);
    lane.value_key = base::Concat("{", base::JsonQuote(shown.key), ":");
    lane.value_end = base::Concat(shown.more, "}");
    lane.factor = shown.factor;
    lane.pid = data.PidOf(track.process_id);
    lane.is_of_module = data.Name(track.name).starts_with("NPU Module ");
    if (shown.process.empty()) TakeProcessOfSource(data, track, shown);
    if (shown.process.empty()) continue;
    const int64_t device = !shown.is_device       ? kHostDevice
                           : track.device_id >= 0 ? track.device_id
                                                  : usual_device_;
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

// Of a counter that no table knows: its process keeps its name where the source gave it to counters
// alone, as the timelines of the device tool do.
void CounterLanes::TakeProcessOfSource(const TraceData& data, const store::TrackRow& track,
                                       importers::TimelineCounter& shown) {
  const auto process = static_cast<size_t>(track.process_id);
  if (process >= data.processes.size() || have_other_rows_[process]) return;
  const std::string_view name = data.Name(data.processes[process].name);
  if (name.empty()) return;
  if (const auto* known = importers::FindTimelineProcess(name); known != nullptr) {
    shown.process = name;
    shown.sort_index = known->sort_index;
    shown.is_device = known->is_device;
    return;
  }
  // Layers that no other process has; a trace with more kinds than these is not known.
  constexpr auto kFreeLayers = std::to_array<int64_t>({2, 3, 4, 5});
  const auto place = std::ranges::find(unknown_, name) - unknown_.begin();
  if (place == std::ssize(kFreeLayers)) return;
  if (place == std::ssize(unknown_)) unknown_.push_back(name);
  shown.process = name;
  shown.is_device = track.device_id >= 0;
  shown.sort_index = kFreeLayers.at(static_cast<size_t>(place));
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
