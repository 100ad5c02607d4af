#include "importers/trace_events/edges.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "importers/common/nester.h"
#include "importers/trace_events/issues.h"

namespace sonde::importers::trace_events {
namespace {

constexpr int64_t kNoEnd = std::numeric_limits<int64_t>::max();

}  // namespace

void EdgePairs::Run() {
  Edges nested;
  Edges spans;
  std::as_const(stage_.staged_.edges).ForEach([&](uint32_t, const RangeEdge& edge) {
    (edge.phase == 'B' || edge.phase == 'E' ? nested : spans).push_back(&edge);
  });
  PairNested(nested);
  PairSpans(spans);
  stage_.staged_.edges.Clear();
}

int32_t EdgePairs::ProcessOf(const RangeEdge& edge) const {
  return stage_.tracks_.threads[static_cast<size_t>(edge.thread)].process;
}

void EdgePairs::PairNested(Edges& edges) {
  std::stable_sort(edges.begin(), edges.end(), [](const RangeEdge* a, const RangeEdge* b) {
    return a->thread != b->thread ? a->thread < b->thread : a->ts < b->ts;
  });
  ranges_.clear();
  PairGroups(
      edges, [](const RangeEdge& a, const RangeEdge& b) { return a.thread == b.thread; }, nullptr);
  for (const Range& range : ranges_) Complete(range);
}

void EdgePairs::PairSpans(Edges& edges) {
  std::stable_sort(edges.begin(), edges.end(), [&](const RangeEdge* a, const RangeEdge* b) {
    return std::tuple(a->key, ProcessOf(*a), a->ts) < std::tuple(b->key, ProcessOf(*b), b->ts);
  });
  ranges_.clear();
  Edges alone;
  PairGroups(
      edges,
      [&](const RangeEdge& a, const RangeEdge& b) {
        return a.key == b.key && ProcessOf(a) == ProcessOf(b);
      },
      &alone);
  std::stable_sort(alone.begin(), alone.end(), [](const RangeEdge* a, const RangeEdge* b) {
    return a->key != b->key ? a->key < b->key : a->ts < b->ts;
  });
  PairGroups(alone, [](const RangeEdge& a, const RangeEdge& b) { return a.key == b.key; }, nullptr);
  AddSpans();
}

template <class SameGroup>
void EdgePairs::PairGroups(const Edges& edges, SameGroup same_group, Edges* alone) {
  for (size_t i = 0; i < edges.size(); ++i) {
    if (i > 0 && !same_group(*edges[i - 1], *edges[i])) CloseGroup(alone);
    Take(*edges[i], alone);
  }
  CloseGroup(alone);
}

void EdgePairs::Take(const RangeEdge& edge, Edges* alone) {
  if (edge.phase == 'B' || edge.phase == 'b') {
    open_names_[edge.name].push_back(open_.size());
    open_.push_back(&edge);
    return;
  }
  const size_t place = InnermostOpen(edge.name);
  if (place == kNowhere) {
    if (alone != nullptr) {
      alone->push_back(&edge);
    } else {
      stage_.issues_.Add(kUnbalanced, stage_.path_);
    }
    return;
  }
  if (edge.phase == 'e') {
    Close(place, edge);
    return;
  }
  const auto inside = static_cast<int64_t>(open_.size() - place) - 1;
  if (inside > 0) stage_.issues_.Add(kUnbalanced, stage_.path_, -1, inside);
  while (open_.size() > place) Close(open_.size() - 1, edge);
}

// In open_; of any name where `name` is none.
size_t EdgePairs::InnermostOpen(int32_t name) const {
  if (name < 0) return open_.empty() ? kNowhere : open_.size() - 1;
  const auto named = open_names_.find(name);
  return named == open_names_.end() || named->second.empty() ? kNowhere : named->second.back();
}

// The innermost of its name.
void EdgePairs::Close(size_t place, const RangeEdge& edge) {
  ranges_.push_back({open_[place], &edge});
  if (edge.phase == 'E' && edge.ts == open_[place]->ts && place > 0) NoteEqual(place);
  open_names_[open_[place]->name].pop_back();
  open_[place] = nullptr;
  while (!open_.empty() && open_.back() == nullptr) open_.pop_back();
}

// Ranges without a length that begin inside of one another: times cannot distinguish them from
// neighbours.
void EdgePairs::NoteEqual(size_t place) {
  const RangeEdge* const inner = open_[place];
  for (size_t around = place; around-- > 0;) {
    const RangeEdge* const outer = open_[around];
    if (outer == nullptr) continue;
    if (outer->ts == inner->ts) stage_.equal_parents_.emplace(inner->slice, outer->slice);
    return;
  }
}

void EdgePairs::CloseGroup(Edges* alone) {
  for (const RangeEdge* begin : open_) {
    if (begin == nullptr) continue;
    if (alone != nullptr) {
      alone->push_back(begin);
    } else {
      stage_.issues_.Add(kUnfinished, stage_.path_);
      ranges_.push_back({begin, nullptr});
    }
  }
  open_.clear();
  open_names_.clear();
}

// The slice of a "B" has the place of its begin: equal ranges nest in the order of the file.
void EdgePairs::Complete(const Range& range) {
  if (range.end == nullptr) return;
  const StagedSlice whole = SliceOf(range);
  StagedSlice& slice = stage_.staged_.slices[range.begin->slice];
  slice.dur = whole.dur;
  slice.args_id = whole.args_id;
  slice.captured = whole.captured;
  slice.reader = whole.reader;
}

void EdgePairs::Add(const Range& range, int32_t track) {
  StagedSlice slice = SliceOf(range);
  slice.track = track;
  stage_.staged_.slices.Append(slice);
}

// The arguments of begin and end are one set.
StagedSlice EdgePairs::SliceOf(const Range& range) {
  const RangeEdge& begin = *range.begin;
  const bool use_end = range.end != nullptr && begin.args_id < 0 && begin.captured < 0;
  const RangeEdge& described = use_end ? *range.end : begin;
  int32_t args_id = described.args_id;
  if (range.end != nullptr && begin.args_id >= 0 && range.end->args_id >= 0) {
    args_id = stage_.JoinArguments(begin.args_id, range.end->args_id);
  }
  return {.ts = begin.ts,
          .dur = range.end == nullptr ? -1 : range.end->ts - begin.ts,
          .track = store::kNone,
          .name = begin.name,
          .category = begin.category,
          .args_id = args_id,
          .captured = described.captured,
          .reader = described.reader};
}

// Each goes to a track of its process that is free when it begins.
void EdgePairs::AddSpans() {
  std::map<int32_t, FreeTracks> tracks;
  std::stable_sort(ranges_.begin(), ranges_.end(),
                   [](const Range& a, const Range& b) { return a.begin->ts < b.begin->ts; });
  for (const Range& range : ranges_) {
    const int32_t process = ProcessOf(*range.begin);
    const int64_t end = range.end == nullptr ? kNoEnd : range.end->ts;
    Add(range, tracks[process].Take(range.begin->ts, end, [&] {
      return stage_.tracks_.Add({.process = process, .is_span = true});
    }));
  }
}

}  // namespace sonde::importers::trace_events
