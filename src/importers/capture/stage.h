// Records of a capture between file and store: decoded, in nanoseconds, nested, numbered.
//
// Decode() turns the slots of one thread into a ThreadStage, Nest() finds depth, parents and
// owners, Layout gives tracks and slices their numbers. Name ids are those of the capture's
// dictionary until rows are written. Plain data; one thread at a time for each stage.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "capture/format.h"
#include "importers/capture/dictionary.h"
#include "importers/capture/slots.h"
#include "importers/capture/tick_clock.h"

namespace sonde::importers::capture_import {

inline constexpr int64_t kOpenEnd = std::numeric_limits<int64_t>::max();
inline constexpr int32_t kNoNode = -1;

// A range. Indices of nodes are into ThreadStage::nodes.
struct Node {
  int64_t ts = 0;
  int64_t end = 0;  // kOpenEnd: had not ended
  uint32_t name = 0;
  uint32_t args = 0;
  uint32_t link = 0;
  int32_t sequence = -1;
  int32_t parent = kNoNode;  // on the same track
  int32_t slice_id = -1;
  uint32_t module = 0;  // name of the innermost module open on the thread; 0 none
  uint32_t depth = 0;
  uint32_t track = 0;  // of the thread's tracks
  capture::RecordKind kind = capture::RecordKind::kNone;
  uint8_t domain = 0;

  int64_t DurNs() const { return end == kOpenEnd ? -1 : end - ts; }
};

struct MarkInstant {
  int64_t ts;
  uint32_t name;
  uint32_t args;
  uint8_t domain;
};

struct CounterInstant {
  int64_t ts;
  uint32_t name;
  double value;
};

struct FlowEnd {
  int64_t ts;
  uint64_t key;
  int32_t node = kNoNode;  // the range open at that moment
  uint32_t name = 0;
  bool out = false;
};

struct MemoryInstant {
  int64_t ts;
  int64_t size_bytes;
  uint64_t pointer;
  capture::MemoryTail tail;
  int32_t node = kNoNode;  // innermost range of the framework open at that moment
  int16_t device_type;
  int16_t device_index;
};

// What a thread and its process had used of the processors by a moment; `wait_ns` ready to run
// without a processor, -1 unknown. Counters of the recorder begin again after 2^48 ns and 2^32.
struct UseInstant {
  int64_t ts = 0;
  uint64_t thread_ns = 0;
  uint64_t process_ns = 0;
  int64_t wait_ns = -1;
  uint32_t thread_switches = 0;
  uint32_t process_switches = 0;
  bool are_faults_known = false;
  uint32_t thread_faults = 0;
  uint32_t process_faults = 0;
};

// The same of a stretch of time; -1 unknown.
struct ProcessorUse {
  int64_t thread_ns = -1;
  int64_t process_ns = -1;
  int64_t wait_ns = -1;
  int64_t thread_switches = -1;
  int64_t process_switches = -1;
  int64_t thread_faults = -1;
  int64_t process_faults = -1;
};

struct SpanEnd {
  int64_t ts;
  uint64_t key;
  uint32_t name;
  uint32_t args;
  uint8_t domain;
  bool begin;
};

using capture::TrackKind;

struct TrackStage {
  TrackKind kind = TrackKind::kThread;
  uint32_t overflow = 0;  // 0: the first of its kind; else ranges that did not nest there
  int32_t track_id = -1;
  std::vector<uint32_t> lane_counts;  // slices by depth
};

struct ThreadStage {
  uint32_t thread_index = 0;
  int32_t thread_id = -1;  // in the store
  // In the order of begin, outer before inner; collective works and spans at the end.
  std::vector<Node> nodes;
  std::vector<MarkInstant> marks;
  std::vector<CounterInstant> counters;
  std::vector<FlowEnd> flows;
  std::vector<MemoryInstant> memory;
  std::vector<SpanEnd> spans;
  std::vector<UseInstant> uses;
  bool has_gaps = false;    // records of the thread are missing
  std::vector<Node> works;  // collective works, until Nest
  std::vector<TrackStage> tracks;
  int32_t first_slice = 0;
  std::vector<uint32_t> by_slice;  // node of slice first_slice + i
};

inline bool IsRange(capture::RecordKind kind) {
  return kind > capture::RecordKind::kNone && kind <= capture::RecordKind::kIdle;
}

TrackKind TrackOf(capture::RecordKind kind);

// Numbers of ids in a capture's dictionary, 0 (none) included.
struct KnownIds {
  uint32_t names = 0;
  uint32_t args = 0;
  uint32_t stacks = 0;
};

// Fills everything of the stage that needs no other record. From here on every id is one of
// `known`: another argument set or stack is none and counted, another name is known.names.
ThreadStage Decode(const ThreadSlots& slots, const TickClock& clock, const KnownIds& known,
                   store::ImportIssues& issues);

// From the last ones at or before begin and end. Unknown where there are none or others, or where
// records are missing and these may be of other moments.
ProcessorUse UseBetween(const ThreadStage& stage, int64_t begin, int64_t end);

// Into the columns of a step.
template <class Row>
void SetProcessorUse(const ProcessorUse& use, Row& row) {
  row.processor_ns = use.thread_ns;
  row.processor_wait_ns = use.wait_ns;
  row.involuntary_switches = use.thread_switches;
  row.process_processor_ns = use.process_ns;
  row.process_involuntary_switches = use.process_switches;
  row.major_faults = use.thread_faults;
  row.process_major_faults = use.process_faults;
}

// Sorts nodes, finds parents, depth, modules and the owners of instants, splits overlaps off.
// `spans` are ranges across threads that began on this one.
void Nest(ThreadStage& stage, std::vector<Node> spans, store::ImportIssues& issues);

// Pairs begins and ends of spans over all threads; result by stage in which they began.
std::vector<std::vector<Node>> PairSpans(const std::vector<ThreadStage>& stages,
                                         store::ImportIssues& issues);

// Numbers tracks from `next_track` and slices from `next_slice` in the order (track, depth, ts).
void Number(ThreadStage& stage, int32_t& next_track, int64_t& next_slice);

}  // namespace sonde::importers::capture_import
