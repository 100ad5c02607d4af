// Leaves out impossible times of collected rows (common/impossible_times.h). Tasks of one stream
// may cover each other here: a collective of Ascend's covers the copies that carry it out.
#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "base/strings.h"
#include "importers/common/impossible_times.h"
#include "importers/rows/trace_rows.h"

namespace sonde::importers {
namespace {

using store::kNone;

constexpr store::IssueKind kTimeApart{
    "trace_time_impossible", store::Severity::kWarning,
    "rows whose times are more than a day from all others (zeros, say) were left out; the source "
    "names the first"};
constexpr store::IssueKind kEndless{"trace_duration_impossible", store::Severity::kWarning,
                                    "durations that end more than a day behind everything else "
                                    "were taken as zero; the source names "
                                    "the first"};
struct Found {
  int64_t count = 0;
  std::string first;
  void Add(const std::string& what) {
    if (count++ == 0) first = what;
  }
};

// Erases rows outside of the window; number[i] becomes the place of row i, kNone where it is gone.
template <class Rows>
std::vector<int32_t> KeepInside(const TimeWindow& window, Rows& rows) {
  std::vector<int32_t> number(rows.size(), kNone);
  size_t kept = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!window.Holds(rows[i].ts)) continue;
    number[i] = static_cast<int32_t>(kept);
    rows[kept++] = rows[i];
  }
  rows.resize(kept);
  return number;
}

// Of what happened, without samples.
template <class Take>
void ForEachEvent(const TraceRows& rows, const Take& take) {
  for (const auto& row : rows.slices) take(row.ts, row.dur);
  for (const auto& row : rows.tasks) take(row.ts, row.dur);
  for (const auto& row : rows.communications) take(row.ts, row.dur);
  for (const auto& row : rows.steps) take(row.ts, row.dur);
  for (const auto& row : rows.marks) take(row.ts, row.dur);
}

// Samples may be many, and of another clock: events decide, where there are any, and keep what lies
// near them.
TimeWindow WindowOfRows(const TraceRows& rows, const std::vector<int64_t>& begins) {
  std::vector<int64_t> events;
  ForEachEvent(rows, [&](int64_t ts, int64_t) {
    if (ts != 0) events.push_back(ts);
  });
  if (events.empty()) return WindowOf(begins);
  using Limits = std::numeric_limits<int64_t>;
  TimeWindow window = WindowOf(events);
  if (window.first == Limits::min()) {
    const auto [first, last] = std::minmax_element(events.begin(), events.end());
    window = {*first, *last};
  }
  constexpr auto kApart = static_cast<int64_t>(kApartNs);
  window.first = window.first < Limits::min() + kApart ? Limits::min() : window.first - kApart;
  window.last = window.last > Limits::max() - kApart ? Limits::max() : window.last + kApart;
  return window;
}

}  // namespace

template <class Take>
void TraceRows::ForEachTime(const Take& take) const {
  ForEachEvent(*this, take);
  for (const auto& row : counters) take(row.ts, 0);
  for (const auto& row : memory_events) take(row.ts, 0);
}

void TraceRows::LeaveOutImpossible() {
  int64_t first = std::numeric_limits<int64_t>::max();
  int64_t last = std::numeric_limits<int64_t>::min();
  ForEachTime([&](int64_t ts, int64_t dur) {
    first = std::min(first, ts);
    last = std::max(last, ts + std::max<int64_t>(dur, 0));
  });
  if (first > last) return;
  if (Distance(first, last) > kApartNs) LeaveOutApart();
}

void TraceRows::LeaveOutApart() {
  std::vector<int64_t> begins;
  ForEachTime([&](int64_t ts, int64_t) { begins.push_back(ts); });
  const TimeWindow window = WindowOfRows(*this, begins);
  int64_t last_begin = std::numeric_limits<int64_t>::min();
  for (const int64_t ts : begins) {
    if (window.Holds(ts)) last_begin = std::max(last_begin, ts);
  }
  const auto outside =
      std::count_if(begins.begin(), begins.end(), [&](int64_t ts) { return !window.Holds(ts); });
  std::string where = source;
  Found endless;
  const auto clamp = [&](auto& row, int32_t name) {
    const int64_t end = row.ts + std::max<int64_t>(row.dur, 0);
    if (!window.Holds(row.ts) || end <= last_begin || Distance(last_begin, end) <= kApartNs) return;
    endless.Add(Place(name));
    row.dur = 0;
  };
  for (auto& row : slices) {
    if (!window.Holds(row.ts) && where == source) where = Place(row.name);
    clamp(row, row.name);
    if (!window.Holds(row.ts)) row.track_id = kNone;  // NestSlices leaves it out
  }
  for (auto& row : tasks) clamp(row, kinds[static_cast<size_t>(row.kind_id)].name);
  for (auto& row : communications) clamp(row, row.name);
  const std::vector<int32_t> task_numbers = KeepInside(window, tasks);
  std::erase_if(pmu, [&](auto& row) {
    row.task_id = task_numbers[static_cast<size_t>(row.task_id)];
    return row.task_id == kNone;
  });
  const std::vector<int32_t> operation_numbers = KeepInside(window, communications);
  std::erase_if(transits, [&](auto& row) {
    row.communication_id = operation_numbers[static_cast<size_t>(row.communication_id)];
    return row.communication_id == kNone;
  });
  KeepInside(window, steps);
  KeepInside(window, marks);
  KeepInside(window, counters);
  KeepInside(window, memory_events);
  if (outside > 0) issues.Add(kTimeApart, where, -1, outside);
  if (endless.count > 0) issues.Add(kEndless, endless.first, -1, endless.count);
}

// "profiler.db: 'MatMul'".
std::string TraceRows::Place(int32_t name) const {
  return name < 0 ? source : base::Concat(source, ": '", names.Text(name), "'");
}

}  // namespace sonde::importers
