// Ranges recorded by two events, "B" and "E", or "b" and "e", become slices; part of EventStage.
//
// "B" and "E" of a thread nest: an end closes the innermost open range of its name with all inside
// of it, and one without a name the innermost. "b" and "e" belong together by id, category, scope
// and name, first within a process, then across processes (ids of the whole system).
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "importers/trace_events/stage.h"

namespace sonde::importers::trace_events {

class EdgePairs {
 public:
  explicit EdgePairs(EventStage& stage) : stage_(stage) {}
  void Run();

 private:
  using Edges = std::vector<const RangeEdge*>;
  struct Range {
    const RangeEdge* begin;
    const RangeEdge* end;  // null where there is none
  };
  // Pairs the edges of each group; an edge without a partner goes to `alone`, or is counted without
  // one.
  template <class SameGroup>
  void PairGroups(const Edges& edges, SameGroup same_group, Edges* alone);
  void Take(const RangeEdge& edge, Edges* alone);
  void CloseGroup(Edges* alone);
  size_t InnermostOpen(int32_t name) const;
  void Close(size_t place, const RangeEdge& edge);
  int32_t ProcessOf(const RangeEdge& edge) const;
  void PairNested(Edges& edges);
  void PairSpans(Edges& edges);
  void AddSpans();
  StagedSlice SliceOf(const Range& range);
  void NoteEqual(size_t place);
  void Complete(const Range& range);
  void Add(const Range& range, int32_t track);

  EventStage& stage_;
  static constexpr size_t kNowhere = SIZE_MAX;
  Edges open_;  // null: closed by now; the last is not
  std::unordered_map<int32_t, std::vector<size_t>> open_names_;  // places in open_ by name
  std::vector<Range> ranges_;
};

}  // namespace sonde::importers::trace_events
