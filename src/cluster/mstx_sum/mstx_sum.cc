// mstx_sum: marks and ranges of the user by name and step: on the host and on the device.
//
//   mark     NAME_start and NAME_stop of one thread, last in, first out: duration of the host
//   range    start_end ranges that ran on a stream: duration of the host, and of the device's task;
//            inside another one their name is outer::inner. Of a trace in which no range has a
//            stream all of them count, without those of the domains Module and mfu_flops
//   names    one that comes again in a step gets _0, _1, ... in the order of time
//   ratio    share of all of the rank, in percent
//   Dispersion(%)  (max - Q3) / sum, in percent
// The durations of the framework are 0, as in the reference. Tables MSTXMarkStats,
// MSTXAllFrameworkStats, MSTXAllCannStats, MSTXAllDeviceStats. Units: nanoseconds. Pure, any
// thread.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "cluster/frame/add_finding.h"
#include "cluster/frame/facts.h"
#include "cluster/frame/mode.h"
#include "cluster/frame/statistics.h"

namespace sonde::cluster {
namespace {

using base::Concat;

#define SONDE_COLUMNS_MSTX_MARK(C)                                                             \
  C(index, Int, "index", "-", "", kLabel, "number of the row")                                 \
  C(name, Text, "Name", "", "", KeyOf("mark"), "of the mark or range")                         \
  C(framework_ns, Double, "FrameworkDurationNs", "FrameworkDuration(Ms)", "ns", kLess, "0")    \
  C(framework_percent, Double, "FrameworkDurationRatio(%)", "", "%", kLess, "0")               \
  C(cann_ns, Double, "CannDurationNs", "CannDuration(Ms)", "ns", kLess, "on the host")         \
  C(cann_percent, Double, "CannDurationRatio(%)", "", "%", kLess, "share of the rank's")       \
  C(device_ns, Double, "DeviceDurationNs", "DeviceDuration(Ms)", "ns", kLess, "on the device") \
  C(device_percent, Double, "DeviceDurationRatio(%)", "", "%", kLess, "share of the rank's")   \
  C(rank, Int, "Rank", "", "", KeyOf("rank"), "global rank")                                   \
  C(step_id, Int, "StepId", "", "", KeyOf("step"), "its step; 0: none")
SONDE_CLUSTER_TABLE(MarkStatsRow, kMarkStats, "mstx_mark_stats", "MSTXMarkStats", "mark_stats",
                    SONDE_COLUMNS_MSTX_MARK, "marks and ranges by rank and step")

#define SONDE_COLUMNS_MSTX_ALL(C)                                                    \
  C(name, Text, "Name", "", "", KeyOf("mark"), "of the mark or range")               \
  C(count, Int, "Count", "", "", kNeither, "ranks that have it")                     \
  C(mean_ns, Double, "MeanNs", "Mean(Ms)", "ns", kLess, "mean")                      \
  C(std_ns, Double, "StdNs", "Std(Ms)", "ns", kLess, "deviation of the sample")      \
  C(min_ns, Double, "MinNs", "Min(Ms)", "ns", kLess, "shortest")                     \
  C(min_rank, Int, "MinRank", "", "", kLabel, "its rank")                            \
  C(q1_ns, Double, "Q1Ns", "Q1(Ms)", "ns", kLess, "first quartile")                  \
  C(median_ns, Double, "MedianNs", "Median(Ms)", "ns", kLess, "median")              \
  C(q3_ns, Double, "Q3Ns", "Q3(Ms)", "ns", kLess, "third quartile")                  \
  C(max_ns, Double, "MaxNs", "Max(Ms)", "ns", kLess, "longest")                      \
  C(max_rank, Int, "MaxRank", "", "", kLabel, "its rank")                            \
  C(sum_ns, Double, "SumNs", "Sum(Ms)", "ns", kLess, "sum")                          \
  C(dispersion_percent, Double, "Dispersion(%)", "", "%", kLess, "(max - Q3) / sum") \
  C(step_id, Int, "StepId", "", "", KeyOf("step"), "its step; 0: none")
SONDE_CLUSTER_TABLE(MstxFrameworkRow, kMstxFramework, "mstx_all_framework_stats",
                    "MSTXAllFrameworkStats", "all_fwk_stats", SONDE_COLUMNS_MSTX_ALL,
                    "durations of the framework over ranks")
SONDE_CLUSTER_TABLE(MstxCannRow, kMstxCann, "mstx_all_cann_stats", "MSTXAllCannStats",
                    "all_cann_stats", SONDE_COLUMNS_MSTX_ALL, "durations of the host over ranks")
SONDE_CLUSTER_TABLE(MstxDeviceRow, kMstxDevice, "mstx_all_device_stats", "MSTXAllDeviceStats",
                    "all_device_stats", SONDE_COLUMNS_MSTX_ALL,
                    "durations of the device over ranks")

// One occurrence.
struct MarkRow {
  std::string name;
  int64_t ts = 0;
  int64_t end = 0;  // of the host
  int64_t device_ns = 0;
  int64_t step_id = 0;
};
struct OddMark {
  std::string name;
};

// The durations of the device's tasks of ranges, which have their text: the next one that begins
// behind the range.
class RangeTasks {
 public:
  explicit RangeTasks(const recipes::TraceData& data) {
    for (const store::DeviceTaskRow& task : data.tasks) {
      const store::TaskKindRow& kind = data.kinds[static_cast<size_t>(task.kind_id)];
      if (kind.core == store::kNone && kind.name != kind.task_type) {
        tasks_[kind.name].emplace_back(task.ts, std::max<int64_t>(task.dur, 0));
      }
    }
  }
  // -1: none. Ranges come in the order of begin.
  int64_t Take(int32_t name, int64_t begin) {
    const auto found = tasks_.find(name);
    if (found == tasks_.end()) return -1;
    const auto& list = found->second;
    size_t& next = next_[name];
    while (next < list.size() && list[next].first < begin) ++next;
    return next < list.size() ? list[next++].second : -1;
  }

 private:
  std::map<int32_t, std::vector<std::pair<int64_t, int64_t>>> tasks_;
  std::map<int32_t, size_t> next_;
};

std::string_view WithoutSuffix(std::string_view name, std::string_view suffix) {
  return name.ends_with(suffix) ? name.substr(0, name.size() - suffix.size()) : std::string_view();
}

void PairMarks(const RankInput& rank, std::vector<MarkRow>& rows, Part& part) {
  const recipes::TraceData& data = rank.data();
  std::map<std::pair<int32_t, std::string>, std::vector<int64_t>> open;  // by track and name
  for (const store::MarkRow& mark : data.marks) {
    if (data.Name(mark.kind) != "marker" || !rank.window.Has(mark.ts)) continue;
    const std::string_view text = data.Name(mark.message);
    const std::string_view started = WithoutSuffix(text, "_start");
    const std::string_view stopped = WithoutSuffix(text, "_stop");
    if (!started.empty()) open[{mark.track_id, std::string(started)}].push_back(mark.ts);
    if (stopped.empty()) continue;
    auto& starts = open[{mark.track_id, std::string(stopped)}];
    if (starts.empty()) {
      part.Rows<OddMark>().push_back({std::string(text)});
      continue;
    }
    rows.push_back({.name = std::string(stopped), .ts = starts.back(), .end = mark.ts});
    starts.pop_back();
  }
  for (const auto& [key, starts] : open) {
    if (!starts.empty()) part.Rows<OddMark>().push_back({Concat(key.second, "_start")});
  }
}

// Ranges inside ranges, all threads together.
void NameNested(std::vector<MarkRow>& rows) {
  constexpr size_t kDeepestRange = 100;
  std::stable_sort(rows.begin(), rows.end(), [](const MarkRow& a, const MarkRow& b) {
    return std::pair(a.ts, -a.end) < std::pair(b.ts, -b.end);
  });
  std::vector<std::pair<int64_t, std::string>> open;  // end, full name
  for (MarkRow& row : rows) {
    while (!open.empty() && open.back().first < row.end) open.pop_back();
    if (!open.empty()) row.name = Concat(open.back().second, "::", row.name);
    if (open.size() < kDeepestRange) open.emplace_back(row.end, row.name);
  }
}

void TakeRanges(const RankInput& rank, std::vector<MarkRow>& rows) {
  const recipes::TraceData& data = rank.data();
  RangeTasks tasks(data);
  std::vector<MarkRow> on_stream;
  std::vector<MarkRow> others;
  std::vector<const store::MarkRow*> ranges;
  for (const store::MarkRow& mark : data.marks) {
    const bool is_range = data.Name(mark.kind) != "marker" && mark.dur >= 0;
    if (is_range) ranges.push_back(&mark);
  }
  std::stable_sort(ranges.begin(), ranges.end(),
                   [](const auto* a, const auto* b) { return a->ts < b->ts; });
  for (const store::MarkRow* mark : ranges) {
    const int64_t device_ns = tasks.Take(mark->message, mark->ts);
    if (!rank.window.Has(mark->ts)) continue;
    MarkRow row{.name = std::string(data.Name(mark->message)),
                .ts = mark->ts,
                .end = mark->ts + mark->dur,
                .device_ns = std::max<int64_t>(device_ns, 0)};
    const std::string_view domain = data.Name(mark->domain);
    if (device_ns >= 0) {
      on_stream.push_back(std::move(row));
    } else if (domain != "Module" && domain != "mfu_flops") {
      others.push_back(std::move(row));
    }
  }
  std::vector<MarkRow>& taken = on_stream.empty() ? others : on_stream;
  NameNested(taken);
  rows.insert(rows.end(), taken.begin(), taken.end());
}

int64_t StepOf(const recipes::TraceData& data, int64_t ts) {
  for (const store::StepRow& step : data.steps) {
    const int64_t end = step.dur < 0 ? data.last_ns : step.ts + step.dur;
    if (ts >= step.ts && ts <= end) return step.step_id;
  }
  return 0;
}

void NumberRepeated(std::vector<MarkRow>& rows) {
  std::stable_sort(rows.begin(), rows.end(),
                   [](const MarkRow& a, const MarkRow& b) { return a.ts < b.ts; });
  std::map<std::pair<int64_t, std::string>, std::pair<int64_t, int64_t>> counts;  // all, so far
  for (const MarkRow& row : rows) ++counts[{row.step_id, row.name}].first;
  for (MarkRow& row : rows) {
    auto& [all, number] = counts[{row.step_id, row.name}];
    if (all > 1) row.name += Concat("_", std::to_string(number++));
  }
}

Status MapMstxSum(const RankInput& rank, Part& part) {
  std::vector<MarkRow> rows;
  PairMarks(rank, rows, part);
  TakeRanges(rank, rows);
  for (MarkRow& row : rows) row.step_id = StepOf(rank.data(), row.ts);
  NumberRepeated(rows);
  part.Rows<MarkRow>() = std::move(rows);
  return {};
}

double ShareOf(double part, double all) { return all > 0 ? 100 * part / all : 0; }

void AddRank(const RankPart& rank, std::vector<MarkStatsRow>& rows) {
  double cann = 0;
  double device = 0;
  for (const MarkRow& mark : rank.part.Rows<MarkRow>()) {
    cann += static_cast<double>(mark.end - mark.ts);
    device += static_cast<double>(mark.device_ns);
  }
  for (const MarkRow& mark : rank.part.Rows<MarkRow>()) {
    MarkStatsRow row{.name = mark.name, .rank = rank.rank, .step_id = mark.step_id};
    row.cann_ns = static_cast<double>(mark.end - mark.ts);
    row.cann_percent = ShareOf(row.cann_ns, cann);
    row.device_ns = static_cast<double>(mark.device_ns);
    row.device_percent = ShareOf(row.device_ns, device);
    rows.push_back(std::move(row));
  }
}

// `value`: the duration that counts, of a row of the ranks.
template <class Row, class Value>
std::vector<Row> OverRanks(const std::vector<MarkStatsRow>& marks, const Value& value) {
  std::map<std::pair<int64_t, std::string>, std::vector<const MarkStatsRow*>> names;
  for (const MarkStatsRow& mark : marks) names[{mark.step_id, mark.name}].push_back(&mark);
  std::vector<Row> rows;
  for (const auto& [key, list] : names) {
    Row row{.name = key.second, .step_id = key.first};
    std::vector<double> values;
    for (const MarkStatsRow* mark : list) values.push_back(value(*mark));
    const auto least = std::min_element(values.begin(), values.end()) - values.begin();
    const auto most = std::max_element(values.begin(), values.end()) - values.begin();
    row.min_rank = list[static_cast<size_t>(least)]->rank;
    row.max_rank = list[static_cast<size_t>(most)]->rank;
    Set(Describe(values), row);
    if (row.sum_ns == 0) row.min_rank = row.max_rank = 0;
    row.dispersion_percent = row.sum_ns > 0 ? (row.max_ns - row.q3_ns) / row.sum_ns * 100 : 0;
    rows.push_back(std::move(row));
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return a.dispersion_percent > b.dispersion_percent;
  });
  return rows;
}

// Of those that all are on the host: the one whose longest exceeds its shortest most.
void ReportMarks(const std::vector<MstxCannRow>& rows, Outcome& outcome) {
  const auto most = std::max_element(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return a.max_ns - a.min_ns < b.max_ns - b.min_ns;
  });
  if (most->max_ns == most->min_ns) {
    AddFinding(outcome, "cluster.marks_even", {std::to_string(rows.size())}, kMstxCann);
    return;
  }
  AddFinding(outcome, "cluster.marks",
             {most->name, Duration(most->max_ns), std::to_string(most->max_rank),
              Duration(most->min_ns), std::to_string(most->min_rank)},
             kMstxCann)
      .rank = most->max_rank;
}

// A line for all ranks that have the same ones.
void NotifyOfOddMarks(std::span<const RankPart> ranks, Outcome& outcome) {
  std::map<std::set<std::string>, std::vector<int32_t>> ranks_of;
  for (const RankPart& rank : ranks) {
    std::set<std::string> odd;
    for (const OddMark& mark : rank.part.Rows<OddMark>()) odd.insert(mark.name);
    if (!odd.empty()) ranks_of[odd].push_back(rank.rank);
  }
  for (const auto& [odd, those] : ranks_of) {
    const std::vector<std::string> names(odd.begin(), odd.end());
    outcome.notices.push_back(Concat("marks of rank ", Listed(those),
                                     " that have no other end: ", base::Join(names, ", ")));
  }
}

Status ReduceMstxSum(std::span<const RankPart> ranks, const ModeOptions& /*options*/,
                     Outcome& outcome) {
  std::vector<MarkStatsRow> marks;
  for (const RankPart& rank : ranks) AddRank(rank, marks);
  NotifyOfOddMarks(ranks, outcome);
  std::stable_sort(marks.begin(), marks.end(),
                   [](const auto& a, const auto& b) { return a.cann_percent > b.cann_percent; });
  for (size_t i = 0; i < marks.size(); ++i) marks[i].index = static_cast<int64_t>(i);
  const auto on_host = OverRanks<MstxCannRow>(marks, [](const auto& mark) { return mark.cann_ns; });
  if (!on_host.empty()) ReportMarks(on_host, outcome);
  outcome.tables = {
      TableOf(kMarkStats, marks),
      TableOf(kMstxFramework, OverRanks<MstxFrameworkRow>(
                                  marks, [](const auto& mark) { return mark.framework_ns; })),
      TableOf(kMstxCann, on_host),
      TableOf(kMstxDevice,
              OverRanks<MstxDeviceRow>(marks, [](const auto& mark) { return mark.device_ns; }))};
  return {};
}

constexpr std::array kMstxSumTables = {&kMarkStats, &kMstxFramework, &kMstxCann, &kMstxDevice};

}  // namespace

extern const Mode kMstxSumMode;
constexpr Mode kMstxSumMode = {
    .name = "mstx_sum",
    .folder = "MstxSum",
    .summary = "Marks and ranges of the user by name, step and rank",
    .tables = kMstxSumTables,
    .needs = recipes::Reads<store::MarkRow, store::DeviceTaskRow, store::StepRow>(),
    .wants = "marks or ranges of mstx (sonde.mstx in the program, --profile-mstx)",
    .map = &MapMstxSum,
    .reduce = &ReduceMstxSum};

}  // namespace sonde::cluster
