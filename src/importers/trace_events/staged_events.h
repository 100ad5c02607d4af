// The output of a reader of a trace for the stage: processes, threads and tracks in order of
// appearance, and events of each kind in the order of the file, in blocks that join without a copy.
//
// Times are nanoseconds as in the file. `name`, `category` and their like are ids of the stage's
// names, `thread` and `track` places in its TrackTable; -1: none. `captured` and `reader` locate
// the arguments that the dialect keeps (EventStage::Captured). Threads: one owner at a time.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "importers/trace_events/dialect.h"
#include "importers/trace_events/event_blocks.h"
#include "store/rows.h"

namespace sonde::importers::trace_events {

struct ProcessEntry {
  std::string pid;  // as written
  int32_t name = store::kNone;
  int32_t labels = store::kNone;
  int64_t sort_index = 0;
  int64_t number = 0;  // pid as number; those that are texts get negative ones
};

struct ThreadEntry {
  int32_t process = 0;
  std::string tid;
  int32_t name = store::kNone;
  int64_t sort_index = 0;
  int64_t number = 0;
  std::array<int32_t, kMaxLanes> tracks;  // by lane, -1 none
};

struct TrackEntry {
  int32_t process = store::kNone;
  int32_t thread = store::kNone;
  uint8_t lane = 0;
  bool is_overflow = false;  // for slices that do not nest with those of the lane
  bool is_counter = false;
  bool is_span = false;  // of asynchronous ranges
  int32_t kind = store::kNone;
  int32_t name = store::kNone;
  int32_t device_id = store::kNone;
  int32_t stream_id = store::kNone;
};

struct StagedSlice {
  int64_t ts;     // ns
  int64_t dur;    // ns, -1 unfinished
  int32_t track;  // -1: its time is impossible
  int32_t name;
  int32_t category;
  int32_t args_id;
  int32_t captured;
  uint32_t reader;  // whose captured values
};

struct InstantEvent {
  int64_t ts;
  int32_t thread;
  int32_t name;
  int32_t category;
  int32_t args_id;
  int32_t captured;
  uint32_t reader;               // whose captured values
  bool taken;                    // by the dialect
  bool left_out = false;         // its time is impossible
  int32_t slice = store::kNone;  // slice_id of the innermost slice of lane 0 open then
};

struct CounterValue {
  int64_t ts;
  double value;
  int32_t track;  // -1: its time is impossible
};

struct FlowEnd {
  int64_t ts;
  uint64_t key;    // hash of category, name and id
  int64_t number;  // the id, for people
  int32_t thread;
  int32_t category;
  char phase;      // s t f
  bool enclosing;  // binds to the slice that is open, else to the next
  bool of_span;    // of an asynchronous event: its slice is on no thread, so it binds to none
  int32_t slice = store::kNone;
};

// The begin or end of a range that is recorded by two events.
struct RangeEdge {
  int64_t ts;
  uint64_t key;  // of asynchronous ones
  int32_t thread;
  int32_t name;
  int32_t category;
  int32_t args_id;
  int32_t captured;
  uint32_t reader;
  char phase;  // B E b e
  uint8_t lane;
  uint32_t slice = 0;  // of "B": place of the slice that begins, among those of the same list
};

// Two sets of arguments that become one: those of the begin and of the end of a range.
struct JoinedArguments {
  int32_t begin;
  int32_t end;  // wins where both have a key
  int32_t joined;
};

// A fact of a process in an event of phase 'M' that names nothing.
struct ProcessFact {
  int32_t process;    // place in the TrackTable
  uint64_t position;  // in the file
  std::string key;
  std::string json;
};

// The events of one piece of the file.
struct Staged {
  explicit Staged(BlockArena* arena)
      : slices(arena), instants(arena), counters(arena), flows(arena), edges(arena) {}
  Blocks<StagedSlice> slices;
  Blocks<InstantEvent> instants;
  Blocks<CounterValue> counters;
  Blocks<FlowEnd> flows;
  Blocks<RangeEdge> edges;
  void Append(Staged&& later);
};

}  // namespace sonde::importers::trace_events
