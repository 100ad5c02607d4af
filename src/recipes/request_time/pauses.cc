#include "recipes/request_time/pauses.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

#include "recipes/request_time/host_times.h"
#include "recipes/request_time/steps.h"

namespace sonde::recipes {
namespace {

// Counters of python/sonde/vllm/_loop_lag.py: one of each at the end of a pause.
enum class LoopCounter : uint8_t { kLag, kProcessor, kProcessorWait, kFaults, kCount };
constexpr std::array<std::string_view, static_cast<size_t>(LoopCounter::kCount)> kLoopCounters = {
    "event loop lag ms", "event loop processor ms", "event loop processor wait ms",
    "event loop major faults"};

std::map<int32_t, LoopCounter> LoopTracks(const store::RowTables& tables) {
  std::map<int32_t, LoopCounter> tracks;
  for (const store::TrackRow& row : tables.Rows<store::TrackRow>()) {
    const auto* const name =
        std::find(kLoopCounters.begin(), kLoopCounters.end(), NameIn(tables, row.name));
    if (name == kLoopCounters.end()) continue;
    tracks[row.track_id] = static_cast<LoopCounter>(name - kLoopCounters.begin());
  }
  return tracks;
}

int64_t NsOf(double ms) { return static_cast<int64_t>(ms * 1e6); }

void AddTo(int64_t& sum, int64_t value) { sum = std::max<int64_t>(sum, 0) + value; }

void TakeFact(LoopCounter counter, double value, LoopPause& pause) {
  switch (counter) {
    case LoopCounter::kProcessor:
      AddTo(pause.processor_ns, NsOf(value));
      break;
    case LoopCounter::kProcessorWait:
      AddTo(pause.processor_wait_ns, NsOf(value));
      break;
    case LoopCounter::kFaults:
      AddTo(pause.major_faults, static_cast<int64_t>(value));
      break;
    default:
      break;
  }
}

}  // namespace

int64_t LoopPause::WaitedForProcessor() const {
  return std::clamp<int64_t>(processor_wait_ns, 0, Length());
}

int64_t LoopPause::WaitedForPages() const {
  const int64_t own_work = std::max<int64_t>(processor_ns - major_faults * kLongestFaultWorkNs, 0);
  const int64_t rest = Length() - WaitedForProcessor() - std::min(own_work, Length());
  return std::clamp<int64_t>(major_faults * kLongestFaultNs, 0, std::max<int64_t>(rest, 0));
}

std::vector<LoopPause> LoopPauses(const store::RowTables& tables) {
  const std::map<int32_t, LoopCounter> tracks = LoopTracks(tables);
  std::vector<Interval> times;
  std::vector<std::pair<LoopCounter, const store::CounterRow*>> facts;
  for (const store::CounterRow& row : tables.Rows<store::CounterRow>()) {
    const auto track = tracks.find(row.track_id);
    if (track == tracks.end()) continue;
    if (track->second != LoopCounter::kLag) {
      facts.emplace_back(track->second, &row);
    } else if (row.value > 0) {
      times.push_back({row.ts - NsOf(row.value), row.ts});
    }
  }
  const std::vector<Interval> collected = HostTimes(tables, HostActivity::kGarbageCollection);
  std::vector<LoopPause> pauses;
  for (const Interval& time : Merge(std::move(times))) {
    LoopPause pause{.start_ns = time.start_ns, .end_ns = time.end_ns};
    pause.collects = 2 * OverlapNs(collected, time.start_ns, time.end_ns) >= pause.Length();
    pauses.push_back(pause);
  }
  // They come right behind the end of their pause.
  for (const auto& [counter, row] : facts) {
    const auto after = std::partition_point(
        pauses.begin(), pauses.end(), [&](const LoopPause& one) { return one.end_ns <= row->ts; });
    if (after != pauses.begin()) TakeFact(counter, row->value, *std::prev(after));
  }
  return pauses;
}

}  // namespace sonde::recipes
