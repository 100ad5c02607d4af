// The longest times in which a device was idle, and what the thread that launched its next
// work did meanwhile.
//
//   gaps      in which it neither computed, communicated nor copied (IdleOf), between the first and
//             the last work of a device; the longest kMostGaps of each, the longest first
//   thread    that of the call which launched the first task behind the gap
//   host busy time in which it was in any slice that was recorded of it
//   doing     the shortest of its slices that lasts at least half of the gap: what it was at. None:
//             it was at many things, or nothing was recorded
// Units: nanoseconds. Pure, any thread.
#include <algorithm>
#include <optional>

#include "recipes/launch/launch.h"
#include "recipes/meaning/meaning.h"
#include "recipes/recipe.h"

namespace sonde::recipes {
namespace {

#define SONDE_COLUMNS_DEVICE_GAPS(C)                                                         \
  C(process_id, Opt, "", KeyOf("process"), "process that the device is of")                  \
  C(device_id, Int, "", KeyOf("device"), "number of the device in its process")              \
  C(start_ns, Int, "ns", kLabel, "end of the work before, of the Unix epoch")                \
  C(dur_ns, Int, "ns", kLess, "until the next work")                                         \
  C(next_task, Text, "", KeyOf("kernel"), "first task behind it; empty: a communication")    \
  C(tid, Opt, "", KeyOf("tid"), "thread that launched it; NULL: unknown")                    \
  C(host_busy_ns, Opt, "ns", kNeither, "of the gap, in which something ran on that thread")  \
  C(doing, OptText, "", KeyOf("operator"), "what that thread was at for half of it or more") \
  C(doing_slice_id, Opt, "", KeyOf("slice"), "the slice of it")
SONDE_RESULT(DeviceGapRow, kDeviceGaps, "device_gaps", SONDE_COLUMNS_DEVICE_GAPS,
             "one of the longest times in which a device was idle")

constexpr size_t kMostGaps = 100;

// Activity of a thread from `begin_ns` to `end_ns`.
struct Doing {
  std::vector<Interval> busy;
  int32_t slice = store::kNone;
};

// Slices of a track lie by depth and start; those of one depth follow each other.
void LookAt(const TraceData& data, std::span<const store::SliceRow> track, const Interval& gap,
            Doing& doing) {
  while (!track.empty()) {
    const int32_t depth = track.front().depth;
    const auto end = std::partition_point(track.begin(), track.end(),
                                          [&](const auto& slice) { return slice.depth == depth; });
    auto slice = std::partition_point(
        track.begin(), end, [&](const auto& one) { return data.EndNs(one) <= gap.start_ns; });
    for (; slice != end && slice->ts < gap.end_ns; ++slice) {
      const Interval inside = {std::max(slice->ts, gap.start_ns),
                               std::min(data.EndNs(*slice), gap.end_ns)};
      if (depth == 0) doing.busy.push_back(inside);
      if (2 * (inside.end_ns - inside.start_ns) < gap.end_ns - gap.start_ns) continue;
      const bool is_shorter =
          doing.slice < 0 || data.DurationNs(*slice) <= data.DurationNs(data.Slice(doing.slice));
      if (is_shorter) doing.slice = slice->slice_id;
    }
    track = {end, track.end()};
  }
}

Doing DoingOf(const TraceData& data, int32_t thread_id, const Interval& gap) {
  Doing doing;
  for (const store::TrackRow& track : data.tracks) {
    // The lane of a stream shows the work itself.
    if (track.thread_id != thread_id || data.IsOfKind(track, TrackKind::kStream)) continue;
    const auto begin =
        std::partition_point(data.slices.begin(), data.slices.end(),
                             [&](const auto& slice) { return slice.track_id < track.track_id; });
    const auto end = std::partition_point(begin, data.slices.end(), [&](const auto& slice) {
      return slice.track_id == track.track_id;
    });
    LookAt(data, {begin, end}, gap, doing);
  }
  return doing;
}

DeviceGapRow Describe(const DeviceView& view, const Launches& launches, size_t device,
                      const Interval& gap) {
  const TraceData& data = *view.data;
  DeviceGapRow row;
  row.process_id = view.devices[device].process_id;
  row.device_id = view.devices[device].device_id;
  row.start_ns = gap.start_ns;
  row.dur_ns = gap.end_ns - gap.start_ns;
  auto task = std::partition_point(data.tasks.begin(), data.tasks.end(),
                                   [&](const auto& one) { return one.ts < gap.end_ns; });
  while (task != data.tasks.end() && task->ts == gap.end_ns &&
         view.device_of_track[static_cast<size_t>(task->track_id)] != device) {
    ++task;
  }
  if (task == data.tasks.end() || task->ts != gap.end_ns) return row;
  row.next_task = data.Name(data.kinds[static_cast<size_t>(task->kind_id)].name);
  const int32_t call = launches.CallOf(static_cast<size_t>(task - data.tasks.begin()));
  if (call < 0) return row;
  const int32_t thread_id = data.TrackOf(data.Slice(call)).thread_id;
  if (thread_id < 0) return row;
  row.tid = data.TidOf(thread_id);
  Doing doing = DoingOf(data, thread_id, gap);
  row.host_busy_ns = TotalNs(Merge(std::move(doing.busy)));
  row.doing_slice_id = doing.slice;
  if (doing.slice >= 0) row.doing = data.Name(data.Slice(doing.slice).name);
  return row;
}

void RunDeviceGaps(const DeviceView& view, store::RowSink& rows) {
  const Launches launches(*view.data);
  for (size_t device = 0; device < view.devices.size(); ++device) {
    std::vector<Interval> gaps = IdleOf(view, device);
    const auto is_longer = [](const Interval& a, const Interval& b) {
      const int64_t a_ns = a.end_ns - a.start_ns;
      const int64_t b_ns = b.end_ns - b.start_ns;
      return a_ns != b_ns ? a_ns > b_ns : a.start_ns < b.start_ns;
    };
    std::sort(gaps.begin(), gaps.end(), is_longer);
    gaps.resize(std::min(gaps.size(), kMostGaps));
    for (const Interval& gap : gaps) Describe(view, launches, device, gap).Write(rows);
  }
}

}  // namespace

extern const Recipe kDeviceGapsRecipe;
constexpr Recipe kDeviceGapsRecipe = {
    &kDeviceGaps,
    Reads<store::SliceRow, store::DeviceTaskRow, store::CommunicationOpRow, store::StepRow,
          store::FlowRow>()
        .WithDeviceTimes(),
    &RunDeviceGaps};

}  // namespace sonde::recipes
