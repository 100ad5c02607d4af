#include "recipes/trace/trace_data.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "base/host/parallel.h"
#include "base/strings.h"
#include "recipes/trace/part_needs.h"
#include "recipes/trace/table_reader.h"

namespace sonde::recipes {
namespace {

using ReadFunction = Status (*)(const store::Store&, store::RowTables&);

// Of the texts that are kept whole only those that a recipe reads: timelines are among them.
Status ReadMatrices(const store::Store& store, store::RowTables& tables) {
  SONDE_ASSIGN_OR_RETURN(const store::ResultTable found,
                         store.Query("SELECT file, content FROM source_text WHERE file LIKE "
                                     "'%communication_matrix.json' ORDER BY file"));
  base::LargeVector<store::SourceTextRow> rows;
  for (size_t row = 0; row < found.rows(); ++row) {
    rows.push_back({.file = tables.KeepText(found.Text(0, row)),
                    .content = tables.KeepText(found.Text(1, row))});
  }
  tables.Add(std::move(rows));
  return {};
}

// In the order that look-ups go by: sets that share a part of their arguments lie behind the
// others.
Status ReadTextArguments(const store::Store& store, store::RowTables& tables) {
  SONDE_RETURN_IF_ERROR(ReadTable<store::ArgsTextRow>(store, tables));
  const std::span<const store::ArgsTextRow> rows = tables.Rows<store::ArgsTextRow>();
  const auto is_before = [](const store::ArgsTextRow& a, const store::ArgsTextRow& b) {
    return a.args_id < b.args_id;
  };
  if (std::ranges::is_sorted(rows, is_before)) return {};
  // Nobody else has the table yet.
  const std::span own(const_cast<store::ArgsTextRow*>(rows.data()), rows.size());
  std::ranges::stable_sort(own, is_before);
  return {};
}

struct ReadStep {
  uint64_t table;
  ReadFunction read;
};
template <class Row>
constexpr ReadStep kRead = {store::kAnyOf<Row>, &ReadTable<Row>};

// Large ones first, so that the threads end together. Tables that are not here (arguments of other
// types, hardware counters) are for queries.
constexpr ReadStep kReadSteps[] = {
    kRead<store::SliceRow>,
    kRead<store::FrameworkOpRow>,
    kRead<store::DeviceTaskRow>,
    kRead<store::MemoryEventRow>,
    kRead<store::MemoryBlockRow>,
    kRead<store::CallstackRow>,
    {kTableBit<store::ArgsTextRow>, &ReadTextArguments},
    kRead<store::FlowRow>,
    kRead<store::CounterRow>,
    kRead<store::NameRow>,
    kRead<store::OpSignatureRow>,
    kRead<store::TaskKindRow>,
    kRead<store::CommunicationOpRow>,
    kRead<store::CommunicationTransitRow>,
    kRead<store::DeviceTaskPmuRow>,
    kRead<store::MarkRow>,
    kRead<store::StepRow>,
    kRead<store::ApiCallRow>,
    kRead<store::ProcessRow>,
    kRead<store::ThreadRow>,
    kRead<store::TrackRow>,
    kRead<store::CommunicationGroupRow>,
    kRead<store::MetadataRow>,
    kRead<store::ImportIssueRow>,
    kRead<store::RequestRow>,
    kRead<store::EngineStepRow>,
    kRead<store::RequestStepRow>,
    {kTableBit<store::SourceTextRow>, &ReadMatrices},
};

Result<std::shared_ptr<const store::RowTables>> ReadTables(const store::Store& store, int threads,
                                                           const Needs& needs) {
  std::vector<ReadFunction> wanted;
  for (const ReadStep& step : kReadSteps) {
    if ((needs.tables & step.table) != 0) wanted.push_back(step.read);
  }
  auto tables = std::make_shared<store::RowTables>();
  SONDE_RETURN_IF_ERROR(
      base::ParallelForStatus(wanted.size(), base::ParallelOptions{.max_threads = threads},
                              [&](size_t i) { return wanted[i](store, *tables); }));
  return std::shared_ptr<const store::RowTables>(std::move(tables));
}

// Rows in memory may hold more than was asked for.
template <class Row>
void View(std::span<const Row>& rows, const TraceData& data, const Needs& needs) {
  if (HasAnyOf<Row>(needs)) rows = data.tables->Rows<Row>();
}

void ViewTables(const Needs& needs, TraceData& data) {
  View(data.processes, data, needs);
  View(data.threads, data, needs);
  View(data.tracks, data, needs);
  View(data.slices, data, needs);
  View(data.ops, data, needs);
  View(data.signatures, data, needs);
  View(data.frames, data, needs);
  View(data.flows, data, needs);
  View(data.counters, data, needs);
  View(data.kinds, data, needs);
  View(data.tasks, data, needs);
  View(data.pmu, data, needs);
  View(data.communications, data, needs);
  View(data.transits, data, needs);
  View(data.memory_events, data, needs);
  View(data.memory_blocks, data, needs);
  View(data.steps, data, needs);
  View(data.marks, data, needs);
  View(data.api_calls, data, needs);
  View(data.text_args, data, needs);
}

Status TakeNames(TraceData& data) {
  const auto rows = data.tables->Rows<store::NameRow>();
  data.names.resize(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].name_id != static_cast<int64_t>(i)) {
      return base::CorruptDataError("the texts of the trace store are not numbered in order");
    }
    data.names[i] = rows[i].name;
  }
  return {};
}

void TakeFacts(const Needs& needs, TraceData& data) {
  std::span<const store::CommunicationGroupRow> groups;
  View(groups, data, needs);
  for (const store::CommunicationGroupRow& row : groups) {
    data.groups.push_back({static_cast<uint64_t>(row.group_hash), row.process_id, row.name,
                           row.description, row.rank_list});
  }
  for (const auto& row : data.tables->Rows<store::MetadataRow>()) {
    data.metadata.insert_or_assign(std::string(row.key), std::string(row.value));
  }
  for (const auto& row : data.tables->Rows<store::ImportIssueRow>()) {
    data.issues.push_back({std::string(data.Name(row.severity)), std::string(data.Name(row.code)),
                           row.count, std::string(row.advice)});
  }
}

// First begin and last end of the tables that are not loaded.
Status AskBounds(const store::Store& store, const Needs& needs, int64_t& first_ns,
                 int64_t& last_ns) {
  struct Timed {
    uint64_t table;
    const char* name;
    const char* dur;
  };
  static constexpr Timed kTimed[] = {
      {kTableBit<store::SliceRow>, store::RowTraits<store::SliceRow>::kTable, "dur"},
      {kTableBit<store::DeviceTaskRow>, store::RowTraits<store::DeviceTaskRow>::kTable, "dur"},
      {kTableBit<store::CommunicationOpRow>, store::RowTraits<store::CommunicationOpRow>::kTable,
       "dur"},
      {kTableBit<store::MarkRow>, store::RowTraits<store::MarkRow>::kTable, "dur"},
      {kTableBit<store::MemoryEventRow>, store::RowTraits<store::MemoryEventRow>::kTable, "0"},
  };
  for (const Timed& timed : kTimed) {
    if ((needs.tables & timed.table) != 0) continue;
    SONDE_ASSIGN_OR_RETURN(const store::ResultTable bounds,
                           store.Query(base::Concat("SELECT min(ts), max(ts + greatest(", timed.dur,
                                                    ", 0)) FROM ", timed.name)));
    if (bounds.IsNull(0, 0)) continue;
    first_ns = std::min(first_ns, bounds.Int(0, 0));
    last_ns = std::max(last_ns, bounds.Int(1, 0));
  }
  return {};
}

Status FindBounds(const store::Store& store, const Needs& needs, TraceData& data) {
  int64_t first_ns = std::numeric_limits<int64_t>::max();
  int64_t last_ns = std::numeric_limits<int64_t>::min();
  if (store.rows() == nullptr) {
    SONDE_RETURN_IF_ERROR(AskBounds(store, needs, first_ns, last_ns));
  }
  const auto cover = [&](int64_t ts, int64_t dur) {
    first_ns = std::min(first_ns, ts);
    last_ns = std::max(last_ns, ts + std::max<int64_t>(dur, 0));
  };
  // All that is there, whether somebody asked for it or not.
  for (const auto& row : data.tables->Rows<store::SliceRow>()) cover(row.ts, row.dur);
  for (const auto& row : data.tables->Rows<store::DeviceTaskRow>()) cover(row.ts, row.dur);
  for (const auto& row : data.tables->Rows<store::CommunicationOpRow>()) cover(row.ts, row.dur);
  for (const auto& row : data.tables->Rows<store::MarkRow>()) cover(row.ts, row.dur);
  const auto memory_events = data.tables->Rows<store::MemoryEventRow>();
  if (!memory_events.empty()) {
    cover(memory_events.front().ts, 0);
    cover(memory_events.back().ts, 0);
  }
  if (first_ns > last_ns) first_ns = last_ns = 0;
  data.first_ns = first_ns;
  data.last_ns = last_ns;
  return {};
}

// The slices of one track by start. They lie by depth, and the children of a slice follow each
// other in their depth, so that one walk with a cursor for each depth is enough.
void OrderTrack(TraceData& data, size_t begin, size_t end) {
  std::vector<size_t> cursors;  // next slice of each depth
  std::vector<size_t> depth_ends;
  for (size_t i = begin; i < end;) {
    const int32_t depth = data.slices[i].depth;
    cursors.push_back(i);
    while (i < end && data.slices[i].depth == depth) ++i;
    depth_ends.push_back(i);
  }
  size_t out = begin;
  std::vector<int32_t> open;  // slices whose children are being taken, outermost first
  while (out < end) {
    const size_t depth = open.size();
    const int32_t parent = open.empty() ? store::kNone : open.back();
    const bool has_next = depth < cursors.size() && cursors[depth] < depth_ends[depth];
    if (has_next && data.slices[cursors[depth]].parent_id == parent) {
      const auto slice = static_cast<int32_t>(cursors[depth]++);
      data.preorder[out++] = slice;
      open.push_back(slice);
    } else if (!open.empty()) {
      open.pop_back();
    } else {
      break;  // a depth without parents above: not a tree, see CheckIds
    }
  }
  // Slices that the walk did not reach, so that each occurs once.
  for (size_t depth = 0; depth < cursors.size() && out < end; ++depth) {
    while (cursors[depth] < depth_ends[depth]) {
      data.preorder[out++] = static_cast<int32_t>(cursors[depth]++);
    }
  }
}

void OrderSlices(TraceData& data, int threads) {
  data.track_begin.assign(data.tracks.size() + 1, data.slices.size());
  for (size_t i = data.slices.size(); i-- > 0;) {
    data.track_begin[static_cast<size_t>(data.slices[i].track_id)] = i;
  }
  for (size_t track = data.tracks.size(); track-- > 0;) {
    data.track_begin[track] = std::min(data.track_begin[track], data.track_begin[track + 1]);
  }
  data.preorder.resize(data.slices.size());
  base::ParallelFor(data.tracks.size(), {.max_threads = threads}, [&](size_t begin, size_t end) {
    for (size_t t = begin; t < end; ++t)
      OrderTrack(data, data.track_begin[t], data.track_begin[t + 1]);
  });
  data.op_of_slice.assign(data.slices.size(), -1);
  for (size_t i = 0; i < data.ops.size(); ++i) {
    data.op_of_slice[static_cast<size_t>(data.ops[i].slice_id)] = static_cast<int32_t>(i);
  }
}

void IndexStacks(TraceData& data) {
  int32_t stacks = 0;
  for (const auto& frame : data.frames) stacks = std::max(stacks, frame.stack_id + 1);
  for (const auto& op : data.ops) stacks = std::max(stacks, op.stack_id + 1);
  data.stack_begin.assign(static_cast<size_t>(stacks) + 1, 0);
  for (const auto& frame : data.frames) ++data.stack_begin[static_cast<size_t>(frame.stack_id) + 1];
  for (size_t i = 1; i < data.stack_begin.size(); ++i) {
    data.stack_begin[i] += data.stack_begin[i - 1];
  }
}

// Whether each row is at the place of its number.
template <class Row, class Number>
bool IsNumbered(std::span<const Row> rows, Number Row::* number) {
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].*number != static_cast<int64_t>(i)) return false;
  }
  return true;
}

// The exporters index by id and walk parents without further checks; this makes it safe. What was
// not asked for is not there to be indexed.
Status CheckIds(const TraceData& data, const Needs& needs) {
  const auto slices = static_cast<int64_t>(data.slices.size());
  const auto corrupt = [](std::string_view table) {
    return base::CorruptDataError(
        base::Concat("table ", table, " of the trace store is inconsistent"));
  };
  if (!IsNumbered(data.processes, &store::ProcessRow::process_id)) return corrupt("process");
  if (!IsNumbered(data.threads, &store::ThreadRow::thread_id)) return corrupt("thread");
  if (!IsNumbered(data.tracks, &store::TrackRow::track_id)) return corrupt("track");
  if (!IsNumbered(data.kinds, &store::TaskKindRow::kind_id)) return corrupt("task_kind");
  if (!IsNumbered(data.signatures, &store::OpSignatureRow::signature_id)) {
    return corrupt("op_signature");
  }
  for (int64_t i = 0; i < slices; ++i) {
    const store::SliceRow& row = data.slices[static_cast<size_t>(i)];
    if (row.slice_id != i || row.parent_id >= i || row.track_id < 0 ||
        row.track_id >= static_cast<int64_t>(data.tracks.size()) ||
        (i > 0 && row.track_id < data.slices[static_cast<size_t>(i - 1)].track_id)) {
      return corrupt("slice");
    }
  }
  for (const auto& row : data.ops) {
    if (row.slice_id < 0 || (needs.Has<store::SliceRow>() && row.slice_id >= slices) ||
        (needs.Has<store::OpSignatureRow>() &&
         row.signature_id >= static_cast<int64_t>(data.signatures.size())) ||
        row.stack_id >= static_cast<int64_t>(data.ops.size() + data.frames.size())) {
      return corrupt("framework_op");
    }
  }
  for (const auto& row : data.tasks) {
    if (row.kind_id < 0 || row.kind_id >= static_cast<int64_t>(data.kinds.size()) ||
        row.track_id < 0 || row.track_id >= static_cast<int64_t>(data.tracks.size()) ||
        (needs.Has<store::SliceRow>() && row.launch_slice_id >= slices)) {
      return corrupt("device_task");
    }
  }
  return {};
}

}  // namespace

Result<TraceData> TraceData::Load(const store::Store& store, int threads, const Needs& needs) {
  TraceData data;
  data.tables = store.rows();
  if (data.tables == nullptr) {
    SONDE_ASSIGN_OR_RETURN(data.tables, ReadTables(store, threads, needs));
  }
  ViewTables(needs, data);
  SONDE_RETURN_IF_ERROR(TakeNames(data));
  TakeFacts(needs, data);
  SONDE_RETURN_IF_ERROR(CheckIds(data, needs));
  if (needs.order) {
    IndexStacks(data);
    OrderSlices(data, threads);
  }
  if (needs.bounds) SONDE_RETURN_IF_ERROR(FindBounds(store, needs, data));
  for (const auto& process : data.processes) {
    if (process.rank >= 0) data.rank = process.rank;
  }
  return data;
}

std::vector<const store::ProcessRow*> TraceData::ProcessesWithTracks() const {
  std::vector<bool> has_track(processes.size());
  for (const store::TrackRow& track : tracks) {
    const auto process = static_cast<size_t>(track.process_id);  // a large one where it is none
    if (process < has_track.size()) has_track[process] = true;
  }
  std::vector<const store::ProcessRow*> found;
  for (size_t i = 0; i < has_track.size(); ++i) {
    if (has_track[i]) found.push_back(&processes[i]);
  }
  return found;
}

std::vector<int32_t> TraceData::SlicesOfKinds(std::initializer_list<TrackKind> track_kinds) const {
  std::vector<int32_t> ids;
  for (size_t track = 0; track < tracks.size(); ++track) {
    const auto kind = capture::TrackKindOf(Name(tracks[track].kind));
    if (!kind || std::find(track_kinds.begin(), track_kinds.end(), *kind) == track_kinds.end()) {
      continue;
    }
    for (size_t i = track_begin[track]; i < track_begin[track + 1]; ++i) {
      ids.push_back(static_cast<int32_t>(i));
    }
  }
  return ids;
}

std::string_view TraceData::TextArgument(int32_t args_id, std::string_view key) const {
  if (args_id < 0) return {};
  auto row =
      std::lower_bound(text_args.begin(), text_args.end(), args_id,
                       [](const store::ArgsTextRow& a, int32_t id) { return a.args_id < id; });
  for (; row != text_args.end() && row->args_id == args_id; ++row) {
    if (Name(row->key) == key) return Name(row->value);
  }
  return {};
}

}  // namespace sonde::recipes
