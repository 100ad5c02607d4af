// The differences between producers of trace events that matter for reading.
//
// The functions are called from several threads at once, once an event: keep them cheap.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "capture/track_kinds.h"
#include "importers/trace_events/captured_set.h"
#include "importers/trace_events/event.h"
#include "store/rows.h"

namespace sonde::importers::trace_events {

// An argument whose value is kept with every slice (EventStage::Captured), in this order.
struct CapturedKey {
  const char* key;
  bool is_text;  // the value is the name id of the text; else an integer
};

// Events of one thread may be on several tracks, called lanes. Flows bind to lane 0.
inline constexpr uint8_t kMaxLanes = 8;

struct TrackLabel {
  capture::TrackKind kind = capture::TrackKind::kThread;
  std::string name = {};  // "": that of the thread
  int32_t device_id = store::kNone;
  int32_t stream_id = store::kNone;
};

// The file's facts about a process or thread.
struct ThreadFacts {
  std::string_view category;  // of the first slice of the track
  CapturedSet arguments;      // the same
  std::string_view process_name;
  std::string_view process_labels;
  std::string_view thread_name;
  std::string_view pid;
  std::string_view tid;
};

class Dialect {
 public:
  virtual ~Dialect() = default;

  virtual std::vector<CapturedKey> captured_keys() const { return {}; }
  // Less than kMaxLanes.
  virtual uint8_t LaneOf(const TraceEvent& /*event*/) const { return 0; }
  // Whether the arguments go to the tables of arguments; captured keys are kept anyway.
  virtual bool StoresArguments(const TraceEvent& /*event*/) const { return true; }
  // Value of flow.kind.
  virtual const char* FlowKind(std::string_view /*category*/) const { return "user"; }
  virtual TrackLabel LabelTrack(const ThreadFacts& /*facts*/, uint8_t /*lane*/) const { return {}; }
  // The name of a counter's track and its device, of the facts of its process.
  virtual TrackLabel LabelCounter(const ThreadFacts& /*facts*/, std::string_view name) const {
    return {.name = std::string(name)};
  }
  // Events whose processes have one scope share the ids that the program gives, flows among them; 0
  // where all of the file do. Files of several ranks that were joined into one have a scope each.
  virtual uint64_t ScopeOf(std::string_view /*pid*/) const { return 0; }
  // Whether slices like this one come one after another on their track, as the work of a stream
  // does: where one covers several later ones its duration is wrong.
  virtual bool RunsInOrder(std::string_view /*category*/, const CapturedSet& /*arguments*/) const {
    return false;
  }
  // Instants that are not to become marks (the caller of EventStage takes them).
  virtual bool TakesInstant(const TraceEvent& /*event*/) const { return false; }
};

}  // namespace sonde::importers::trace_events
