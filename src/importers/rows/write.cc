// Order, nesting and numbers of collected rows, and their way into the tables.
#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>

#include "importers/common/nester.h"
#include "importers/rows/trace_rows.h"
#include "store/table_writer.h"

namespace sonde::importers {
namespace {

using store::kNone;

constexpr size_t kMaxSlices = std::numeric_limits<int32_t>::max();

template <class Rows>
Status WriteRows(const Rows& rows, store::Transaction& transaction) {
  using Row = typename Rows::value_type;
  SONDE_ASSIGN_OR_RETURN(auto writer, store::TableWriter<Row>::Open(transaction));
  for (const Row& row : rows) writer.Append(row);
  return writer.Close();
}

// Ends of the ranges that are open on one track.
struct Open {
  int64_t end;
  int32_t slice;
};

// Most files hold their rows in order: sorting takes as much memory again.
template <class Rows, class Before>
void StableSort(Rows&& rows, const Before& before) {
  if (!std::is_sorted(rows.begin(), rows.end(), before)) {
    std::stable_sort(rows.begin(), rows.end(), before);
  }
}

using Permutation = base::SpillVector<int32_t>;

Permutation Numbers(size_t count, base::SpillPool* pool) {
  Permutation numbers(count, base::SpillAllocator<int32_t>(pool));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

template <class Rows>
void Take(const Permutation& order, Rows& rows) {
  Rows out(rows.get_allocator());
  out.reserve(order.size());
  base::SpillSteps steps(order.get_allocator().pool());
  for (const int32_t index : order) {
    steps.Next();
    out.push_back(rows[static_cast<size_t>(index)]);
  }
  rows = std::move(out);
}

// The place at which each of `count` rows is taken; kNone where it is not.
Permutation Inverse(const Permutation& order, size_t count) {
  Permutation places(count, kNone, order.get_allocator());
  for (size_t i = 0; i < order.size(); ++i) {
    places[static_cast<size_t>(order[i])] = static_cast<int32_t>(i);
  }
  return places;
}

// Sorts the numbers by group(number), 0 to groups - 1, and keeps the order within a group. Returns
// the begin of each group, and the end. A counting sort.
template <class Group>
std::vector<size_t> GroupBy(Permutation& order, size_t groups, const Group& group) {
  base::SpillSteps steps(order.get_allocator().pool());
  std::vector<size_t> begins(groups + 1, 0);
  for (const int32_t number : order) {
    steps.Next();
    ++begins[static_cast<size_t>(group(number)) + 1];
  }
  std::partial_sum(begins.begin(), begins.end(), begins.begin());
  std::vector<size_t> next = begins;
  Permutation grouped(order.size(), order.get_allocator());
  for (const int32_t number : order) {
    steps.Next();
    grouped[next[static_cast<size_t>(group(number))]++] = number;
  }
  order = std::move(grouped);
  return begins;
}

// Rows by start, those of the same start in the order of the file. Calls move(places) where that
// changes something.
template <class Rows, class Move>
void OrderByStart(Rows& rows, base::SpillPool* pool, const Move& move) {
  const auto by_start = [](const auto& a, const auto& b) { return a.ts < b.ts; };
  if (base::IsSorted(rows.begin(), rows.end(), pool, by_start)) return;
  Permutation order = Numbers(rows.size(), pool);
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return std::tuple(rows[static_cast<size_t>(a)].ts, a) <
           std::tuple(rows[static_cast<size_t>(b)].ts, b);
  });
  move(Inverse(order, rows.size()));
  Take(order, rows);
}

using Slices = base::SpillVector<store::SliceRow>;

// The slices that have a track, by track and begin, a slice before those inside of it.
Permutation SlicesByStart(const Slices& slices, size_t tracks) {
  Permutation order = Numbers(slices.size(), slices.get_allocator().pool());
  const auto row = [&](int32_t index) -> const store::SliceRow& {
    return slices[static_cast<size_t>(index)];
  };
  std::erase_if(order, [&](int32_t index) { return row(index).track_id == kNone; });
  const std::vector<size_t> begins =
      GroupBy(order, tracks, [&](int32_t index) { return row(index).track_id; });
  for (size_t track = 0; track < tracks; ++track) {
    std::span<int32_t> of_track(order);
    of_track = of_track.subspan(begins[track], begins[track + 1] - begins[track]);
    StableSort(of_track, [&](int32_t a, int32_t b) {
      const store::SliceRow& x = row(a);
      const store::SliceRow& y = row(b);
      return BeginsBefore(x.ts, x.ts + x.dur, y.ts, y.ts + y.dur);
    });
  }
  return order;
}

size_t DeepestOf(const Slices& slices) {
  int32_t deepest = 0;
  for (const store::SliceRow& slice : slices) deepest = std::max(deepest, slice.depth);
  return static_cast<size_t>(deepest);
}

}  // namespace

int32_t TraceRows::AddTrackLike(int32_t track_id) {
  store::TrackRow track = tracks[static_cast<size_t>(track_id)];
  track.track_id = static_cast<int32_t>(tracks.size());
  tracks.push_back(track);
  return track.track_id;
}

// Sets depth and parent (an index), and gives ranges that do not nest a further track.
void TraceRows::NestSlices() {
  Permutation order = SlicesByStart(slices, tracks.size());
  Nester<Open> open;  // on the current track
  FreeTracks further;
  int32_t current = kNone;
  base::SpillSteps walk(pool_);
  for (const int32_t index : order) {
    walk.Next();
    store::SliceRow& slice = slices[static_cast<size_t>(index)];
    if (slice.track_id != current) {
      current = slice.track_id;
      open.Clear();
      further.Clear();
    }
    const int64_t end = slice.ts + slice.dur;
    open.CloseUntil(slice.ts);
    if (!open.Holds(end)) {
      issues.Add(kOverlap, source);
      slice.track_id = further.Take(slice.ts, end, [&] { return AddTrackLike(current); });
      continue;
    }
    slice.parent_id = open.empty() ? kNone : open.innermost().slice;
    slice.depth = static_cast<int32_t>(open.depth());
    open.Open({end, index});
  }
  // Numbers in the order (track, depth, start); by start they are already.
  GroupBy(order, DeepestOf(slices) + 1,
          [this](int32_t index) { return slices[static_cast<size_t>(index)].depth; });
  GroupBy(order, tracks.size(),
          [this](int32_t index) { return slices[static_cast<size_t>(index)].track_id; });
  slice_number_ = Inverse(order, slices.size());
  Take(order, slices);
  for (size_t i = 0; i < slices.size(); ++i) {
    walk.Next();
    slices[i].slice_id = static_cast<int32_t>(i);
    int32_t& parent = slices[i].parent_id;
    if (parent != kNone) parent = slice_number_[static_cast<size_t>(parent)];
  }
}

void TraceRows::OrderTasks() {
  OrderByStart(tasks, pool_, [this](const Permutation& places) {
    for (store::DeviceTaskPmuRow& row : pmu) row.task_id = places[static_cast<size_t>(row.task_id)];
  });
  base::SpillSteps walk(pool_);
  for (size_t i = 0; i < tasks.size(); ++i) {
    walk.Next();
    tasks[i].task_id = static_cast<int32_t>(i);
  }
  StableSort(pmu, [](const auto& a, const auto& b) { return a.task_id < b.task_id; });
  OrderByStart(communications, pool_, [this](const Permutation& places) {
    for (store::CommunicationTransitRow& row : transits) {
      row.communication_id = places[static_cast<size_t>(row.communication_id)];
    }
  });
  for (size_t i = 0; i < communications.size(); ++i) {
    communications[i].communication_id = static_cast<int32_t>(i);
  }
  StableSort(transits,
             [](const auto& a, const auto& b) { return a.communication_id < b.communication_id; });
  const auto by_time = [](const auto& a, const auto& b) { return a.ts < b.ts; };
  // Some were found behind those of later slices.
  StableSort(args_text, [](const auto& a, const auto& b) { return a.args_id < b.args_id; });
  StableSort(memory_events, by_time);
  StableSort(steps, by_time);
  StableSort(marks, by_time);
  for (size_t i = 0; i < marks.size(); ++i) {
    marks[i].mark_id = first_mark + static_cast<int32_t>(i);
  }
  StableSort(counters, [](const auto& a, const auto& b) {
    return std::tie(a.track_id, a.ts) < std::tie(b.track_id, b.ts);
  });
}

void TraceRows::Translate() {
  const auto number = [&](int32_t& slice) {
    if (slice >= 0) slice = slice_number_[static_cast<size_t>(slice)];
  };
  // Those of slices that were left out go with them.
  const auto is_gone = [&](const auto& row) {
    return row.slice_id >= 0 && slice_number_[static_cast<size_t>(row.slice_id)] == kNone;
  };
  if (slices.size() < slice_number_.size()) {
    std::erase_if(ops, is_gone);
    std::erase_if(api_calls, is_gone);
  }
  for (auto& row : ops) number(row.slice_id);
  std::sort(ops.begin(), ops.end(),
            [](const auto& a, const auto& b) { return a.slice_id < b.slice_id; });
  for (auto& row : flows) {
    number(row.slice_out);
    number(row.slice_in);
  }
  for (auto& row : tasks) {
    number(row.slice_id);
    number(row.launch_slice_id);
  }
  for (auto& row : communications) {
    number(row.slice_id);
    number(row.launch_slice_id);
  }
  for (auto& row : memory_events) number(row.owner_slice_id);
  for (auto& row : memory_blocks) number(row.owner_slice_id);
  for (auto& row : steps) number(row.slice_id);
  for (auto& row : marks) number(row.slice_id);
  for (auto& row : api_calls) number(row.slice_id);
  std::sort(api_calls.begin(), api_calls.end(),
            [](const auto& a, const auto& b) { return a.slice_id < b.slice_id; });
  for (size_t i = 0; i < flows.size(); ++i) flows[i].flow_id = static_cast<int32_t>(i);
}

Status TraceRows::WriteOwn(store::Transaction& transaction) const {
  SONDE_RETURN_IF_ERROR(WriteRows(signatures, transaction));
  SONDE_RETURN_IF_ERROR(WriteRows(ops, transaction));
  SONDE_RETURN_IF_ERROR(WriteRows(callstacks, transaction));
  SONDE_RETURN_IF_ERROR(WriteRows(counters, transaction));
  SONDE_RETURN_IF_ERROR(WriteRows(kinds, transaction));
  SONDE_RETURN_IF_ERROR(WriteRows(tasks, transaction));
  SONDE_RETURN_IF_ERROR(WriteRows(pmu, transaction));
  SONDE_RETURN_IF_ERROR(WriteRows(communications, transaction));
  SONDE_RETURN_IF_ERROR(WriteRows(transits, transaction));
  SONDE_RETURN_IF_ERROR(WriteRows(memory_events, transaction));
  SONDE_RETURN_IF_ERROR(WriteRows(memory_blocks, transaction));
  SONDE_RETURN_IF_ERROR(WriteRows(steps, transaction));
  SONDE_RETURN_IF_ERROR(WriteRows(api_calls, transaction));
  SONDE_ASSIGN_OR_RETURN(auto group_rows,
                         store::TableWriter<store::CommunicationGroupRow>::Open(transaction));
  for (const GroupFact& group : groups) {
    group_rows.Append({.group_hash = group.hash,
                       .process_id = group.process_id,
                       .name = group.name,
                       .description = group.description,
                       .rank_list = group.rank_list});
  }
  return group_rows.Close();
}

Status TraceRows::WriteFacts(store::Transaction& transaction) const {
  SONDE_ASSIGN_OR_RETURN(auto facts, store::TableWriter<store::MetadataRow>::Open(transaction));
  for (const TextFact& fact : metadata) {
    const std::string key = store::ToValidUtf8(fact.key);
    const std::string json = store::ToValidUtf8(fact.json);
    facts.Append({.process_id = fact.process_id, .key = key, .value = json});
  }
  return facts.Close();
}

Status TraceRows::WriteShared(store::Transaction& transaction) const {
  SONDE_RETURN_IF_ERROR(WriteRows(tracks, transaction));
  SONDE_RETURN_IF_ERROR(WriteRows(marks, transaction));
  return WriteFacts(transaction);
}

void TraceRows::Order() {
  LeaveOutImpossible();
  OrderTasks();
  const auto by_slice = [](const auto& a, const auto& b) { return a.slice_id < b.slice_id; };
  std::sort(ops.begin(), ops.end(), by_slice);
  std::sort(api_calls.begin(), api_calls.end(), by_slice);
}

void TraceRows::Arrange() {
  LeaveOutImpossible();
  NestSlices();
  OrderTasks();
  Translate();
}

Result<ImportSummary> TraceRows::Write(store::Transaction& transaction) {
  if (slices.size() >= kMaxSlices || tasks.size() >= kMaxSlices) {
    return base::OutOfRangeError("the trace holds more ranges than a store can number (2^31)");
  }
  Arrange();
  SONDE_RETURN_IF_ERROR(WriteRows(processes, transaction));
  SONDE_RETURN_IF_ERROR(WriteRows(threads, transaction));
  SONDE_RETURN_IF_ERROR(WriteRows(slices, transaction));
  SONDE_RETURN_IF_ERROR(WriteRows(args_int, transaction));
  SONDE_RETURN_IF_ERROR(WriteRows(args_double, transaction));
  SONDE_RETURN_IF_ERROR(WriteRows(args_text, transaction));
  SONDE_RETURN_IF_ERROR(WriteRows(flows, transaction));
  SONDE_RETURN_IF_ERROR(WriteShared(transaction));
  SONDE_RETURN_IF_ERROR(WriteOwn(transaction));
  SONDE_RETURN_IF_ERROR(issues.Write(transaction, names));
  SONDE_RETURN_IF_ERROR(names.Write(transaction));
  ImportSummary summary;
  summary.rank = rank;
  summary.slices = static_cast<int64_t>(slices.size());
  summary.device_tasks = static_cast<int64_t>(tasks.size());
  summary.communication_ops = static_cast<int64_t>(communications.size());
  summary.memory_events = static_cast<int64_t>(memory_events.size());
  summary.issues = issues.list();
  if (!slices.empty()) {
    summary.begin_ns = std::numeric_limits<int64_t>::max();
    summary.end_ns = std::numeric_limits<int64_t>::min();
    for (const store::SliceRow& slice : slices) {
      summary.begin_ns = std::min(summary.begin_ns, slice.ts);
      summary.end_ns = std::max(summary.end_ns, slice.ts + slice.dur);
    }
  }
  return summary;
}

}  // namespace sonde::importers
