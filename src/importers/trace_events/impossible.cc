#include "importers/trace_events/impossible.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "base/strings.h"
#include "importers/common/impossible_times.h"
#include "importers/trace_events/issues.h"

namespace sonde::importers::trace_events {
namespace {

// Count of one kind, and the place of the first.
struct FoundEvents {
  int64_t count = 0;
  std::string first;
  template <class Describe>
  void Add(const Describe& describe) {
    if (count++ == 0) first = describe();
  }
};

}  // namespace

// "trace.json: 'gemm' of thread 7, process 0".
std::string ImpossibleTimes::WithThread(int32_t name, int32_t thread) const {
  const ThreadEntry& entry = stage_.tracks_.threads[static_cast<size_t>(thread)];
  const ProcessEntry& process = stage_.tracks_.processes[static_cast<size_t>(entry.process)];
  const std::string_view text = name < 0 ? "?" : stage_.names().Text(name);
  return base::Concat(stage_.path(), ": '", text, "' of thread ", entry.tid, ", process ",
                      process.pid);
}

std::string ImpossibleTimes::Describe(const StagedSlice& slice) const {
  const TrackEntry& track = stage_.tracks_.tracks[static_cast<size_t>(slice.track)];
  if (track.thread >= 0) return WithThread(slice.name, track.thread);
  return base::Concat(stage_.path(), ": '", stage_.names().Text(slice.name), "'");
}

void ImpossibleTimes::LeaveOutApart() {
  Staged& staged = stage_.staged_;
  std::vector<int64_t> begins;
  const auto note = [&](uint32_t, const auto& event) { begins.push_back(event.ts); };
  staged.slices.ForEach(note);
  staged.instants.ForEach(note);
  staged.counters.ForEach(note);
  const TimeWindow window = WindowOf(begins);
  int64_t last_begin = std::numeric_limits<int64_t>::min();
  for (const int64_t ts : begins) {
    if (window.Holds(ts)) last_begin = std::max(last_begin, ts);
  }
  FoundEvents apart;
  FoundEvents endless;
  staged.slices.ForEach([&](uint32_t, StagedSlice& slice) {
    if (!window.Holds(slice.ts)) {
      apart.Add([&] { return Describe(slice); });
      slice.track = store::kNone;
    } else if (slice.dur > 0 && slice.ts + slice.dur > last_begin &&
               Distance(last_begin, slice.ts + slice.dur) > kApartNs) {
      endless.Add([&] { return Describe(slice); });
      slice.dur = 0;
    }
  });
  staged.instants.ForEach([&](uint32_t, InstantEvent& instant) {
    if (window.Holds(instant.ts)) return;
    apart.Add([&] { return WithThread(instant.name, instant.thread); });
    instant.left_out = true;
  });
  staged.counters.ForEach([&](uint32_t, CounterValue& value) {
    if (window.Holds(value.ts)) return;
    apart.Add([&] { return stage_.path(); });
    value.track = store::kNone;
  });
  if (apart.count > 0) stage_.issues_.Add(kTimeApart, apart.first, -1, apart.count);
  if (endless.count > 0) stage_.issues_.Add(kEndless, endless.first, -1, endless.count);
}

bool ImpossibleTimes::RunsInOrder(const StagedSlice& slice) {
  if (slice.category < 0) return false;
  return stage_.dialect_.RunsInOrder(stage_.names().Text(slice.category), stage_.CapturedOf(slice));
}

bool ImpossibleTimes::RepairOverruns(std::span<const uint32_t> places) {
  Blocks<StagedSlice>& slices = stage_.staged_.slices;
  if (places.size() < 2 || !RunsInOrder(slices[places[0]])) return false;
  // An end so far behind the last begin of the trace is not that of a task with successors.
  const uint64_t span = Distance(stage_.first_ns_, stage_.last_begin_ns_);
  const int64_t limit = span > kApartNs ? std::numeric_limits<int64_t>::max()
                                        : stage_.last_begin_ns_ + static_cast<int64_t>(span);
  FoundEvents found;
  ForEachOverrun(
      places.size(), limit, [&](size_t i) { return slices[places[i]].ts; },
      [&](size_t i) { return slices[places[i]].ts + std::max<int64_t>(slices[places[i]].dur, 0); },
      [&](size_t i) {
        StagedSlice& slice = slices[places[i]];
        if (!RunsInOrder(slice)) return;
        found.Add([&] { return Describe(slice); });
        slice.dur = 0;
      });
  if (found.count > 0) stage_.issues_.Add(kOverrun, found.first, -1, found.count);
  return found.count > 0;
}

}  // namespace sonde::importers::trace_events
