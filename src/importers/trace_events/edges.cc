#include "importers/trace_events/edges.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <queue>

#include "importers/trace_events/issues.h"

namespace sonde::importers::trace_events {
namespace {

constexpr int64_t kOpenEnd = std::numeric_limits<int64_t>::max();

}  // namespace

void EdgePairs::Run() {
  std::vector<const RangeEdge*> nested;
  std::vector<const RangeEdge*> spans;
  for (const RangeEdge& edge : stage_.staged_.edges) {
    (edge.phase == 'B' || edge.phase == 'E' ? nested : spans).push_back(&edge);
  }
  std::stable_sort(nested.begin(), nested.end(), [](const RangeEdge* a, const RangeEdge* b) {
    return a->thread != b->thread ? a->thread < b->thread : a->ts < b->ts;
  });
  PairGroups(nested, [](const RangeEdge& a, const RangeEdge& b) { return a.thread == b.thread; });
  AddNested();
  std::stable_sort(spans.begin(), spans.end(), [](const RangeEdge* a, const RangeEdge* b) {
    return a->key != b->key ? a->key < b->key : a->ts < b->ts;
  });
  PairGroups(spans, [](const RangeEdge& a, const RangeEdge& b) { return a.key == b.key; });
  AddSpans();
  stage_.staged_.edges = {};
}

template <class SameGroup>
void EdgePairs::PairGroups(std::vector<const RangeEdge*>& edges, SameGroup same_group) {
  ranges_.clear();
  for (size_t i = 0; i < edges.size(); ++i) {
    if (i > 0 && !same_group(*edges[i - 1], *edges[i])) CloseGroup();
    Take(*edges[i]);
  }
  CloseGroup();
}

// An end closes the innermost open range of its name, and those inside of it; one without a name
// the innermost.
void EdgePairs::Take(const RangeEdge& edge) {
  if (edge.phase == 'B' || edge.phase == 'b') {
    open_.push_back(&edge);
    return;
  }
  size_t place = open_.size();
  while (place > 0 && edge.name >= 0 && open_[place - 1]->name != edge.name) --place;
  if (place == 0) {
    stage_.issues_.Add(kUnbalanced, stage_.path_);
    return;
  }
  while (open_.size() >= place) {
    if (open_.size() > place) stage_.issues_.Add(kUnbalanced, stage_.path_);
    ranges_.push_back({open_.back(), edge.ts});
    open_.pop_back();
  }
}

void EdgePairs::CloseGroup() {
  for (const RangeEdge* begin : open_) {
    stage_.issues_.Add(kUnfinished, stage_.path_);
    ranges_.push_back({begin, kOpenEnd});
  }
  open_.clear();
}

void EdgePairs::Add(const Range& range, int32_t track) {
  const RangeEdge& begin = *range.begin;
  stage_.staged_.slices.Append({.ts = begin.ts,
                                .dur = range.end == kOpenEnd ? -1 : range.end - begin.ts,
                                .track = track,
                                .name = begin.name,
                                .category = begin.category,
                                .args_id = begin.args_id,
                                .captured = begin.captured,
                                .reader = begin.reader});
}

void EdgePairs::AddNested() {
  for (const Range& range : ranges_) {
    Add(range, stage_.tracks_.Track(range.begin->thread, range.begin->lane));
  }
}

// Each goes to a track of its process that is free when it begins.
void EdgePairs::AddSpans() {
  using Free = std::pair<int64_t, int32_t>;  // end of the last range, track
  std::map<int32_t, std::priority_queue<Free, std::vector<Free>, std::greater<>>> free;
  std::stable_sort(ranges_.begin(), ranges_.end(),
                   [](const Range& a, const Range& b) { return a.begin->ts < b.begin->ts; });
  for (const Range& range : ranges_) {
    const int32_t process =
        stage_.tracks_.threads[static_cast<size_t>(range.begin->thread)].process;
    auto& tracks = free[process];
    int32_t track = -1;
    if (!tracks.empty() && tracks.top().first <= range.begin->ts) {
      track = tracks.top().second;
      tracks.pop();
    } else {
      track = stage_.tracks_.Add({.process = process, .is_span = true});
    }
    tracks.emplace(range.end, track);
    Add(range, track);
  }
}

}  // namespace sonde::importers::trace_events
