// Shapes of whole events: the keys between their values, together with values that are the same in
// most events (phase, process, thread, category).
//
// One thread.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "importers/trace_events/event.h"
#include "importers/trace_events/shape_tree.h"

namespace sonde::importers::trace_events {

// The meaning of a key of an event; others are skipped.
enum class EventField : uint8_t {
  kOther,
  kPhase,
  kTs,
  kDur,
  kPid,
  kTid,
  kName,
  kCategory,
  kArgs,
  kId,
  kBind,
  kBindId,
  kFlowIn,
  kFlowOut,
  kScope,
  kSliceFact  // thread clock and stack frames: facts of a slice outside its arguments
};

struct EventFacts {
  // A value that is a part of the text.
  struct Part {
    std::string_view TraceEvent::* member = nullptr;
    uint16_t offset = 0;
    uint16_t size = 0;
  };
  EventField field = EventField::kOther;  // of the value that follows
  char phase = 0;                         // 0: unknown
  uint8_t part_count = 0;
  std::array<Part, 4> parts;

  void Apply(const char* text, TraceEvent& event) const {
    if (phase != 0) event.phase = phase;
    for (uint8_t i = 0; i < part_count; ++i) {
      event.*parts[i].member = {text + parts[i].offset, parts[i].size};
    }
  }
};

// The path of one event through the tree, which grows where the path is new.
class EventShapes {
 public:
  using Tree = ShapeTree<EventFacts, false>;

  void Begin(const char* event) {
    node_ = Tree::kRoot;
    from_ = event;
    learnt_ = {};
  }
  // The edge at `p`, the end of a value; null where none is known.
  const Tree::Edge* Match(const char* p, const char* end) {
    if (p != from_) return nullptr;  // in the middle of an edge that is being learnt
    const Tree::Edge* edge = tree_.Match(node_, p, end);
    if (edge != nullptr) node_ = edge->node;
    return edge;
  }
  // The value behind an edge ends at `p`.
  void PassValue(const char* p) { from_ = p; }

  // A key that was parsed in full since the last edge, and its value from `value` to `behind`.
  void TakePhase(char phase) { learnt_.phase = phase; }
  void TakePart(std::string_view TraceEvent::* member, std::string_view text) {
    const auto offset = static_cast<size_t>(text.data() - from_);
    if (learnt_.part_count == learnt_.parts.size() || offset + text.size() > Tree::kMaxText) {
      return GiveUp();
    }
    learnt_.parts[learnt_.part_count++] = {member, static_cast<uint16_t>(offset),
                                           static_cast<uint16_t>(text.size())};
  }
  void TakeValue(EventField field, const char* value, const char* behind) {
    learnt_.field = field;
    Learn(value, false);
    from_ = behind;
  }
  void TakeEnd(const char* behind) { Learn(behind, true); }
  // The rest of this event is not learnt.
  void GiveUp() { node_ = Tree::kNowhere; }

 private:
  void Learn(const char* to, bool last) {
    const auto size = static_cast<size_t>(to - from_);
    if (size > Tree::kMaxText) GiveUp();
    if (node_ != Tree::kNowhere) {
      Tree::Edge edge;
      static_cast<EventFacts&>(edge) = learnt_;
      edge.text.assign(from_, size);
      edge.last = last;
      node_ = tree_.Learn(node_, std::move(edge))->node;
    }
    learnt_ = {};
  }

  Tree tree_;
  uint32_t node_ = Tree::kRoot;
  const char* from_ = nullptr;  // of the edge
  EventFacts learnt_;
};

}  // namespace sonde::importers::trace_events
