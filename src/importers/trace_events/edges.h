// Ranges told in two events, "B" and "E", or "b" and "e", become slices; part of EventStage.
#pragma once

#include "importers/trace_events/stage.h"

namespace sonde::importers::trace_events {

class EdgePairs {
 public:
  explicit EdgePairs(EventStage& stage) : stage_(stage) {}
  void Run();

 private:
  struct Range {
    const RangeEdge* begin;
    int64_t end;  // kOpenEnd where there is none
  };
  template <class SameGroup>
  void PairGroups(std::vector<const RangeEdge*>& edges, SameGroup same_group);
  void Take(const RangeEdge& edge);
  void CloseGroup();
  void AddNested();
  void AddSpans();
  void Add(const Range& range, int32_t track);

  EventStage& stage_;
  std::vector<const RangeEdge*> open_;
  std::vector<Range> ranges_;
};

}  // namespace sonde::importers::trace_events
