#include "importers/ascend_text/whole_rows.h"

#include <algorithm>
#include <vector>

#include "importers/trace_events/flow_pairs.h"
#include "importers/trace_events/issues.h"

namespace sonde::importers::text_import {
namespace {

using trace_events::EventStage;
using trace_events::FlowEnd;
using trace_events::InstantEvent;
using trace_events::ProcessEntry;
using trace_events::StagedSlice;
using trace_events::ThreadEntry;
using trace_events::TrackEntry;

// Rows by the number that they have in the store; -1: of none.
template <class Row, class Entries, class Make>
void PutByNumber(const std::vector<int32_t>& numbers, const Entries& entries, std::vector<Row>& to,
                 const Make& make) {
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] < 0) continue;
    const auto number = static_cast<size_t>(numbers[i]);
    to.resize(std::max(to.size(), number + 1));
    to[number] = make(entries[i], numbers[i]);
  }
}

int32_t At(const std::vector<int32_t>& numbers, int32_t place) {
  return place < 0 ? store::kNone : numbers[static_cast<size_t>(place)];
}

void TakeTracks(const EventStage& stage, TraceRows& rows) {
  const trace_events::Arrangement& numbers = stage.arrangement();
  PutByNumber(numbers.process_ids, stage.tracks().processes, rows.processes,
              [&](const ProcessEntry& process, int32_t id) {
                store::ProcessRow row;
                row.process_id = id;
                row.pid = process.number;
                row.name = process.name >= 0 ? process.name : rows.names.Intern(process.pid);
                row.rank = stage.rank();
                return row;
              });
  PutByNumber(numbers.thread_ids, stage.tracks().threads, rows.threads,
              [&](const ThreadEntry& thread, int32_t id) {
                store::ThreadRow row;
                row.thread_id = id;
                row.tid = thread.number;
                row.process_id = At(numbers.process_ids, thread.process);
                row.name = thread.name >= 0 ? thread.name : rows.names.Intern(thread.tid);
                return row;
              });
  PutByNumber(numbers.track_ids, stage.tracks().tracks, rows.tracks,
              [&](const TrackEntry& track, int32_t id) {
                return store::TrackRow{.track_id = id,
                                       .kind = track.kind,
                                       .name = track.name,
                                       .process_id = At(numbers.process_ids, track.process),
                                       .thread_id = At(numbers.thread_ids, track.thread),
                                       .device_id = track.device_id,
                                       .stream_id = track.stream_id,
                                       .sort_index = id};
              });
}

void TakeSlices(const EventStage& stage, TraceRows& rows) {
  rows.slices.reserve(static_cast<size_t>(stage.slice_count()));
  base::SpillSteps steps(rows.pool());
  for (int32_t id = 0; id < static_cast<int32_t>(stage.slice_count()); ++id) {
    steps.Next();
    const StagedSlice& slice = stage.Slice(id);
    store::SliceRow row;
    row.ts = slice.ts;
    row.dur = std::max<int64_t>(slice.dur, 0);
    row.track_id = At(stage.arrangement().track_ids, slice.track);
    row.name = slice.name;
    row.category = slice.category;
    row.args_id = slice.args_id;
    rows.slices.push_back(row);
    rows.next_args_id = std::max(rows.next_args_id, slice.args_id + 1);
  }
}

void TakeFlows(const EventStage& stage, TraceRows& rows) {
  const auto& ends = stage.flow_ends();
  const trace_events::FlowPairs pairs(ends, rows.pool());
  int64_t unbound = 0;
  for (const trace_events::FlowPairs::Flow& flow : pairs.flows()) {
    const FlowEnd& from = ends[flow.from];
    const FlowEnd& to = ends[flow.to];
    unbound += (from.slice < 0 ? 1 : 0) + (to.slice < 0 ? 1 : 0);
    const std::string_view category =
        from.category < 0 ? std::string_view() : rows.names.Text(from.category);
    rows.flows.push_back({.flow_id = static_cast<int32_t>(rows.flows.size()),
                          .kind = rows.names.Intern(stage.dialect().FlowKind(category)),
                          .key = from.number,
                          .slice_out = from.slice,
                          .slice_in = to.slice});
  }
  const auto count = [&](const store::IssueKind& kind, int64_t number) {
    if (number > 0) rows.issues.Add(kind, stage.path(), -1, number);
  };
  count(trace_events::kUnpairedFlow, pairs.unpaired());
  count(trace_events::kRepeatedFlow, pairs.repeated());
  count(trace_events::kUnboundFlow, unbound);
}

// Moments that the dialect did not take.
void TakeMarks(const EventStage& stage, TraceRows& rows) {
  stage.instants().ForEach([&](uint32_t, const InstantEvent& instant) {
    rows.next_args_id = std::max(rows.next_args_id, instant.args_id + 1);
    if (instant.taken || instant.left_out) return;
    const ThreadEntry& thread = stage.tracks().threads[static_cast<size_t>(instant.thread)];
    store::MarkRow mark;
    mark.ts = instant.ts;
    mark.dur = 0;
    mark.track_id = At(stage.arrangement().track_ids, thread.tracks[0]);
    mark.domain = instant.category >= 0 ? instant.category : rows.names.Intern("default");
    mark.message = instant.name;
    mark.kind = rows.names.Intern("marker");
    mark.args_id = instant.args_id;
    rows.marks.push_back(mark);
  });
}

}  // namespace

void TakeStage(const EventStage& stage, TraceRows& rows) {
  TakeTracks(stage, rows);
  TakeSlices(stage, rows);
  TakeFlows(stage, rows);
  TakeMarks(stage, rows);
}

std::vector<LaunchPoint> LaunchPoints(const EventStage& stage) {
  std::vector<LaunchPoint> points;
  const auto& ends = stage.flow_ends();
  const trace_events::FlowPairs pairs(ends, stage.pool());
  for (const trace_events::FlowPairs::Flow& flow : pairs.flows()) {
    const int32_t thread = ends[flow.from].thread;
    if (ends[flow.to].slice < 0 || thread < 0) continue;
    points.push_back({.slice_id = ends[flow.to].slice,
                      .tid = stage.tracks().threads[static_cast<size_t>(thread)].number,
                      .ts = ends[flow.from].ts});
  }
  return points;
}

}  // namespace sonde::importers::text_import
