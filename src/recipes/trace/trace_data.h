// The tables of one rank's store in memory, as the recipes and exporters of captures use them.
//
// Loaded once and shared: every deliverable needs the same columns in different orders, and reading
// them once (about 0.1 us a slice) is far cheaper than a query per file. Members are the stored
// rows; ids index the vectors directly (slices[i].slice_id == i, and so on for the other tables).
// Memory: about 150 bytes an operator. Units: nanoseconds of the Unix epoch.
// Threads: read-only after Load(), then any thread.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "capture/track_kinds.h"
#include "recipes/trace/needs.h"
#include "store/row_tables.h"
#include "store/rows.h"
#include "store/store.h"

namespace sonde::recipes {

// Values of framework_op.scope. What is not of the framework (garbage collection, Python functions,
// works of collectives) has no row there: see TraceData::HasTrackKind.
using capture::Scope;
using capture::TrackKind;

// Rows of the table framework_op that the ecosystem calls operators ("cpu_op").
inline bool IsOperator(int16_t scope) {
  const auto s = static_cast<Scope>(scope);
  return s != Scope::kModule && s != Scope::kMarker;
}

struct CommunicationGroup {
  uint64_t hash = 0;
  int32_t process_id = store::kNone;
  int32_t name = store::kNone;
  int32_t description = store::kNone;
  std::string_view rank_list;  // JSON
};

struct ImportIssue {
  std::string severity;
  std::string code;
  int64_t count = 0;
  std::string advice;
};

struct TraceData {
  // Memory of the tables below.
  std::shared_ptr<const store::RowTables> tables;
  std::vector<std::string_view> names;
  std::span<const store::ProcessRow> processes;
  std::span<const store::ThreadRow> threads;
  std::span<const store::TrackRow> tracks;
  std::span<const store::SliceRow> slices;
  std::span<const store::FrameworkOpRow> ops;  // in the order of slice_id
  std::span<const store::OpSignatureRow> signatures;
  std::span<const store::CallstackRow> frames;  // in the order of (stack_id, depth)
  std::vector<size_t> stack_begin;  // frames of stack s: [stack_begin[s], stack_begin[s+1])
  std::span<const store::FlowRow> flows;
  std::span<const store::CounterRow> counters;
  std::span<const store::TaskKindRow> kinds;
  std::span<const store::DeviceTaskRow> tasks;   // in the order of start
  std::span<const store::DeviceTaskPmuRow> pmu;  // in the order of task_id
  std::span<const store::CommunicationOpRow> communications;
  std::span<const store::CommunicationTransitRow> transits;
  std::vector<CommunicationGroup> groups;
  std::span<const store::MemoryEventRow> memory_events;
  std::span<const store::MemoryBlockRow> memory_blocks;
  std::span<const store::StepRow> steps;  // in the order of start
  std::span<const store::MarkRow> marks;
  std::span<const store::ApiCallRow> api_calls;
  std::span<const store::ArgsTextRow> text_args;             // in the order of args_id
  std::map<std::string, std::string, std::less<>> metadata;  // key -> JSON
  std::vector<ImportIssue> issues;

  // Of a store whose rows are in memory these are used, else of its file what is needed is read.
  static Result<TraceData> Load(const store::Store& store, int threads, const Needs& needs = {});

  // "" for store::kNone.
  std::string_view Name(int32_t id) const {
    return id < 0 ? std::string_view() : names[static_cast<size_t>(id)];
  }
  const store::SliceRow& Slice(int32_t id) const { return slices[static_cast<size_t>(id)]; }
  const store::TrackRow& TrackOf(const store::SliceRow& slice) const {
    return tracks[static_cast<size_t>(slice.track_id)];
  }
  bool IsOfKind(const store::TrackRow& track, TrackKind kind) const {
    return Name(track.kind) == capture::TextOf(kind);
  }
  bool HasTrackKind(const store::SliceRow& slice, TrackKind kind) const {
    return IsOfKind(TrackOf(slice), kind);
  }
  // All slices on tracks of these kinds, in the order of slice_id.
  std::vector<int32_t> SlicesOfKinds(std::initializer_list<TrackKind> track_kinds) const;
  // The end of a slice; that of the whole trace where it had not ended.
  int64_t EndNs(const store::SliceRow& slice) const {
    return slice.dur < 0 ? last_ns : slice.ts + slice.dur;
  }
  int64_t DurationNs(const store::SliceRow& slice) const {
    return slice.dur < 0 ? last_ns - slice.ts : slice.dur;
  }
  // Those in which something happened: other profilers name more.
  std::vector<const store::ProcessRow*> ProcessesWithTracks() const;
  // Process id and thread id of the operating system; 0 where unknown.
  int64_t PidOf(int32_t process_id) const {
    return process_id < 0 ? 0 : processes[static_cast<size_t>(process_id)].pid;
  }
  int64_t TidOf(int32_t thread_id) const {
    return thread_id < 0 ? 0 : threads[static_cast<size_t>(thread_id)].tid;
  }
  // The text argument `key` of a set; "" where it has none.
  std::string_view TextArgument(int32_t args_id, std::string_view key) const;

  // The operator of a slice: index into ops, -1 where it has none.
  int32_t OpOf(int32_t slice_id) const { return op_of_slice[static_cast<size_t>(slice_id)]; }

  // Slices by (track, start), parents before their children: slices in the other order.
  std::vector<int32_t> preorder;
  std::vector<int32_t> op_of_slice;
  std::vector<size_t> track_begin;  // slices of track t: [track_begin[t], track_begin[t + 1])
  // Global rank, from the process or its metadata; none for a program without ranks.
  std::optional<int64_t> rank;
  int64_t first_ns = 0;  // of all slices, tasks, memory events and marks
  int64_t last_ns = 0;
};

}  // namespace sonde::recipes
