#include "cluster/modules/phases.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/strings.h"

namespace sonde::cluster {
namespace {

using base::Concat;
using recipes::TraceData;

std::string_view NameOf(int64_t prompts, int64_t others) {
  if (prompts > 0) return others > 0 ? "mixed" : "prefill";
  return others > 0 ? "decode" : "";
}

// The number behind `word` in `text`, which is cut off behind it.
std::optional<int64_t> NumberBehind(std::string_view word, std::string_view& text) {
  const size_t place = text.find(word);
  if (place == std::string_view::npos) return std::nullopt;
  text.remove_prefix(place + word.size());
  const size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  return base::ParseInt64(text.substr(0, end));
}

std::string_view NameOfAnnotation(std::string_view text) {
  if (!text.starts_with("execute_")) return {};
  const auto prompts = NumberBehind("context_", text);
  const auto others = NumberBehind("generation_", text);
  return prompts && others ? NameOf(*prompts, *others) : "";
}

std::vector<Phase> Annotated(const TraceData& data) {
  std::vector<std::string_view> names(data.names.size());  // texts are few, slices many
  bool is_any = false;
  for (size_t i = 0; i < data.names.size(); ++i) {
    names[i] = NameOfAnnotation(data.names[i]);
    is_any |= !names[i].empty();
  }
  std::vector<Phase> phases;
  if (!is_any) return phases;
  for (const store::SliceRow& slice : data.slices) {
    const std::string_view name = slice.name < 0 ? "" : names[static_cast<size_t>(slice.name)];
    if (name.empty()) continue;
    // A device has the same name for its part of the step, which is later.
    const store::TrackRow& track = data.TrackOf(slice);
    const bool is_host = track.thread_id >= 0 && track.device_id < 0 && track.stream_id < 0;
    if (is_host) phases.push_back({slice.ts, data.EndNs(slice), name});
  }
  return phases;
}

struct Count {
  int64_t ts = 0;
  int64_t value = 0;
};

std::vector<Count> CountsOf(const TraceData& data, std::string_view counter) {
  std::vector<Count> counts;
  for (const store::CounterRow& row : data.counters) {
    const store::TrackRow& track = data.tracks[static_cast<size_t>(row.track_id)];
    if (data.Name(track.name) != counter) continue;
    counts.push_back({row.ts, static_cast<int64_t>(row.value)});
  }
  std::ranges::stable_sort(counts, {}, &Count::ts);
  return counts;
}

// The first of a step: the request to compute.
int64_t FirstIn(const std::vector<Count>& counts, int64_t begin, int64_t end) {
  const auto found = std::ranges::lower_bound(counts, begin, {}, &Count::ts);
  return found != counts.end() && found->ts < end ? found->value : 0;
}

std::vector<Phase> Counted(const TraceData& data) {
  const auto prompts = CountsOf(data, "prefill requests");
  const auto others = CountsOf(data, "decode requests");
  std::vector<Phase> phases;
  if (prompts.empty() && others.empty()) return phases;
  for (const store::StepRow& step : data.steps) {
    const int64_t end = step.dur < 0 ? data.last_ns : step.ts + step.dur;
    const std::string_view name =
        NameOf(FirstIn(prompts, step.ts, end), FirstIn(others, step.ts, end));
    if (!name.empty()) phases.push_back({step.ts, end, name});
  }
  return phases;
}

}  // namespace

std::vector<Phase> PhasesOf(const TraceData& data) {
  std::vector<Phase> phases = Annotated(data);
  if (phases.empty()) phases = Counted(data);
  std::ranges::stable_sort(phases, {}, &Phase::begin);
  return phases;
}

void AssignPhases(const std::vector<Phase>& phases, const std::vector<LaunchingOp>& ops,
                  std::vector<PlacedOp>& placed) {
  if (phases.empty()) return;
  for (PlacedOp& one : placed) {
    const int64_t begin = ops[one.op].begin;
    auto phase = std::ranges::upper_bound(phases, begin, {}, &Phase::begin);
    if (phase == phases.begin()) continue;
    --phase;
    if (begin > phase->end) continue;
    one.parent =
        one.parent.empty() ? std::string(phase->name) : Concat(phase->name, "/", one.parent);
  }
}

}  // namespace sonde::cluster
