// free_analysis: the longest stretches in which a device did nothing, and why.
//
//   stretch     between two of the union of kernels and communication operations; of each rank the
//               `--top_num` (10) longest, of equal ones the earlier
//   tasks in it other tasks (events, copies) ran inside: their types, and the longest hole left
//   else        the last task that ended before it and the first one that began after it, each with
//               the framework's operator and the call of the host interface that launched it:
//     framework idle  next operator's end - previous one's
//     interface idle  next call's end - previous one's
//     Idle Pytorch layer    the way from operator to call grew by less than 50 us: no operator came
//     Dispatched in time    the next operator ended earlier: the device waited for something else
//                           (the reference reports the first with a time below 0)
//     Abnormal CANN layer   else: the time between the calls, or the longer call, whichever is more
//                           (the reference's name for every vendor's interface)
// Where the trace has no such calls (a CPU's) only the framework's calls count. Table FreeAnalysis.
// Times in microseconds, from the trace's nanoseconds. Pure, any thread.
#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/strings.h"
#include "cluster/frame/add_finding.h"
#include "cluster/frame/facts.h"
#include "cluster/frame/statistics.h"
#include "recipes/intervals.h"

namespace sonde::cluster {
namespace {

constexpr ModeOption kFreeTop = TopNumber("10");

using base::Concat;
using recipes::Interval;

#define SONDE_COLUMNS_FREE(C)                                                                \
  C(rank, Int, "rankId", "Rank ID", "", KeyOf("rank"), "global rank")                        \
  C(begin_us, Text, "startTime(us)", "Start Time(us)", "us", kLabel, "begin of the stretch") \
  C(end_us, Text, "endTime(us)", "End Time(us)", "us", kLabel, "its end")                    \
  C(duration_us, Double, "duration(us)", "Duration(us)", "us", kLess, "its duration")        \
  C(framework_idle_us, Double, "pytorchIdleTime(us)", "Pytorch Idle Time(us)", "us", kLess,  \
    "between the ends of both operators; NULL: not known")                                   \
  C(interface_idle_us, Double, "cannIdleTime(us)", "Cann Idle Time(us)", "us", kLess,        \
    "between the ends of both calls; NULL: not known")                                       \
  C(reason, Text, "reason", "Reason", "", kLabel, "why nothing ran")
SONDE_CLUSTER_TABLE(FreeRow, kFree, "free_analysis", "FreeAnalysis", "free_analysis",
                    SONDE_COLUMNS_FREE, "longest stretches without work of a device")

constexpr int64_t kGrownWaitNs = 50'000;
constexpr double kNoTime = std::numeric_limits<double>::quiet_NaN();

enum class Cause : uint8_t { kFramework, kInterface, kTasks, kUnknown, kCauses };
struct FreePart {
  FreeRow row;
  Cause cause = Cause::kUnknown;
};

double Us(int64_t ns) { return Round(static_cast<double>(ns) / 1e3, 3); }
std::string UsText(int64_t ns) { return base::PythonDoubleText(Us(ns)); }

// "1736410576418312.78" of 1736410576418312780 ns.
std::string MomentText(int64_t ns) {
  std::string fraction = std::to_string(1000 + ns % 1000).substr(1);
  while (!fraction.empty() && fraction.back() == '0') fraction.pop_back();
  return Concat(std::to_string(ns / 1000), fraction.empty() ? "" : ".", fraction);
}

std::vector<Interval> LongestGaps(const RankInput& rank) {
  const recipes::TraceData& data = rank.data();
  std::vector<Interval> busy;
  for (const store::DeviceTaskRow& task : data.tasks) {
    if (!IsComputing(data, data.kinds[static_cast<size_t>(task.kind_id)])) continue;
    busy.push_back({task.ts, task.ts + std::max<int64_t>(task.dur, 0)});
  }
  for (const store::CommunicationOpRow& op : data.communications) {
    busy.push_back({op.ts, rank.view.EndNs(op)});
  }
  busy = recipes::Merge(std::move(busy));
  std::vector<Interval> gaps;
  for (size_t i = 1; i < busy.size(); ++i) {
    if (rank.window.Has(busy[i - 1].end_ns)) gaps.push_back({busy[i - 1].end_ns, busy[i].start_ns});
  }
  std::stable_sort(gaps.begin(), gaps.end(), [](const Interval& a, const Interval& b) {
    return a.end_ns - a.start_ns > b.end_ns - b.start_ns;
  });
  const int64_t top = IntOf(rank.options.values, kFreeTop);
  if (std::cmp_greater(gaps.size(), top)) gaps.resize(static_cast<size_t>(top));
  return gaps;
}

// Launches of tasks: operators are those of the number that ties them to their host call, calls
// are the ends of arrows.
class Launches {
 public:
  explicit Launches(const recipes::TraceData& data) : data_(data) {
    const auto add = [this](const auto& work) {
      if (work.connection_id >= 0 && work.launch_slice_id >= 0) {
        ops_.try_emplace(work.connection_id, work.launch_slice_id);
      }
    };
    for (const store::DeviceTaskRow& task : data.tasks) add(task);
    for (const store::CommunicationOpRow& op : data.communications) add(op);
    for (const store::FlowRow& flow : data.flows) {
      if (flow.slice_in >= 0 && flow.slice_out >= 0 && data.Name(flow.kind) == "host_to_device") {
        calls_.try_emplace(flow.slice_in, flow.slice_out);
      }
    }
  }
  // Slices; kNone where they are not known.
  int32_t OpOf(const store::DeviceTaskRow& task) const {
    if (task.launch_slice_id >= 0) return task.launch_slice_id;
    const auto found = ops_.find(task.connection_id);
    return found == ops_.end() ? store::kNone : found->second;
  }
  int32_t CallOf(const store::DeviceTaskRow& task) const {
    const auto found = calls_.find(task.slice_id);
    return found == calls_.end() ? store::kNone : found->second;
  }
  int64_t Begin(int32_t slice) const { return data_.Slice(slice).ts; }
  int64_t End(int32_t slice) const { return data_.EndNs(data_.Slice(slice)); }

 private:
  const recipes::TraceData& data_;
  std::unordered_map<int64_t, int32_t> ops_;
  std::unordered_map<int32_t, int32_t> calls_;
};

// Tasks inside a stretch that count neither as a kernel nor as communication.
bool ExplainByTasks(const recipes::TraceData& data, const Interval& gap, FreePart& free) {
  std::vector<std::pair<std::string, int64_t>> counts;  // in the order of the first
  int64_t free_from = gap.start_ns;
  int64_t longest = 0;  // between tasks; one without duration parts two holes
  const auto first =
      std::upper_bound(data.tasks.begin(), data.tasks.end(), gap.start_ns,
                       [](int64_t ts, const store::DeviceTaskRow& task) { return ts < task.ts; });
  for (auto task = first; task != data.tasks.end() && task->ts < gap.end_ns; ++task) {
    const int64_t end = task->ts + std::max<int64_t>(task->dur, 0);
    if (end >= gap.end_ns) continue;
    const store::TaskKindRow& kind = data.kinds[static_cast<size_t>(task->kind_id)];
    const int32_t type = kind.task_type == store::kNone ? kind.name : kind.task_type;
    const auto found = std::find_if(counts.begin(), counts.end(), [&](const auto& entry) {
      return entry.first == data.Name(type);
    });
    if (found == counts.end()) {
      counts.emplace_back(data.Name(type), 1);
    } else {
      ++found->second;
    }
    longest = std::max(longest, task->ts - free_from);
    free_from = std::max(free_from, end);
  }
  if (counts.empty()) return false;
  longest = std::max(longest, gap.end_ns - free_from);
  std::stable_sort(counts.begin(), counts.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> texts;
  for (const auto& [type, count] : counts) {
    texts.push_back(Concat(std::to_string(count), " ", type, " tasks"));
  }
  free.cause = Cause::kTasks;
  free.row.reason =
      Concat("Device task running: ", base::Join(texts, ", "),
             longest > 0 ? Concat(", max remaining free ", UsText(longest), " us") : ".");
  return true;
}

struct Neighbours {
  const store::DeviceTaskRow* before = nullptr;  // with the greatest end
  const store::DeviceTaskRow* after = nullptr;   // with the least begin
};
Neighbours NeighboursOf(const recipes::TraceData& data, const Interval& gap) {
  Neighbours found;
  int64_t latest = std::numeric_limits<int64_t>::min();
  for (const store::DeviceTaskRow& task : data.tasks) {
    if (task.ts >= gap.end_ns) {
      found.after = &task;
      break;
    }
    const int64_t end = task.ts + std::max<int64_t>(task.dur, 0);
    if (end > gap.start_ns || end < latest) continue;
    latest = end;
    found.before = &task;
  }
  return found;
}

void ExplainByLaunches(const Neighbours& tasks, const Launches& launches, FreePart& free) {
  if (tasks.before == nullptr || tasks.after == nullptr) {
    free.row.reason = "Skip free analysis due to no prev or next task.";
    return;
  }
  const int32_t op_before = launches.OpOf(*tasks.before);
  const int32_t op_after = launches.OpOf(*tasks.after);
  if (op_before < 0 || op_after < 0) {
    free.row.reason = "Skip free analysis due to no pytorch dispatch time.";
    return;
  }
  const int64_t framework_idle = launches.End(op_after) - launches.End(op_before);
  free.row.framework_idle_us = Us(framework_idle);
  if (framework_idle < 0) {
    free.row.reason = Concat("Dispatched in time: the next operator ended ",
                             UsText(-framework_idle), " us before the previous one");
    return;
  }
  free.cause = Cause::kFramework;
  free.row.reason =
      Concat("Idle Pytorch layer: no task dispatched in ", UsText(framework_idle), " us");
  const int32_t before = launches.CallOf(*tasks.before);
  const int32_t after = launches.CallOf(*tasks.after);
  if (before < 0 || after < 0) return;
  free.row.interface_idle_us = Us(launches.End(after) - launches.End(before));
  const int64_t wait_before = launches.Begin(before) - launches.End(op_before);
  const int64_t wait_after = launches.Begin(after) - launches.End(op_after);
  if (wait_after - wait_before < kGrownWaitNs) return;
  free.cause = Cause::kInterface;
  const int64_t between = launches.Begin(after) - launches.End(before);
  const int64_t longer = std::max(launches.End(before) - launches.Begin(before),
                                  launches.End(after) - launches.Begin(after));
  free.row.reason = between >= longer
                        ? Concat("Abnormal CANN layer: long time between two node@launch ",
                                 UsText(between), " us")
                        : Concat("Abnormal CANN layer: long node@launch ", UsText(longer), " us");
}

Status MapFreeAnalysis(const RankInput& rank, Part& part) {
  const recipes::TraceData& data = rank.data();
  const std::vector<Interval> gaps = LongestGaps(rank);
  if (gaps.empty()) return {};
  const Launches launches(data);
  for (const Interval& gap : gaps) {
    FreePart free;
    free.row = {.rank = rank.rank,
                .begin_us = MomentText(gap.start_ns),
                .end_us = MomentText(gap.end_ns),
                .duration_us = Us(gap.end_ns - gap.start_ns),
                .framework_idle_us = kNoTime,
                .interface_idle_us = kNoTime,
                .reason = {}};
    if (!ExplainByTasks(data, gap, free)) {
      ExplainByLaunches(NeighboursOf(data, gap), launches, free);
    }
    part.Rows<FreePart>().push_back(std::move(free));
  }
  return {};
}

void ReportCauses(const std::array<double, static_cast<size_t>(Cause::kCauses)>& us,
                  const FreeRow& longest, Outcome& outcome) {
  double all = 0;
  for (const double part : us) all += part;
  const auto share = [&](Cause cause) { return Percent(us[static_cast<size_t>(cause)], all); };
  recipes::Finding& finding = AddFinding(
      outcome, "cluster.longest_free",
      {std::to_string(longest.rank), Duration(longest.duration_us * 1e3), longest.reason}, kFree);
  finding.rank = longest.rank;
  finding.value = longest.duration_us;
  finding.unit = "us";
  AddFinding(outcome, "cluster.free_causes",
             {share(Cause::kFramework), share(Cause::kInterface), share(Cause::kTasks),
              share(Cause::kUnknown)},
             kFree);
}

Status ReduceFreeAnalysis(std::span<const RankPart> ranks, const ModeOptions& /*options*/,
                          Outcome& outcome) {
  std::vector<FreeRow> rows;
  std::array<double, static_cast<size_t>(Cause::kCauses)> us{};
  for (const RankPart& rank : ranks) {
    for (const FreePart& free : rank.part.Rows<FreePart>()) {
      us[static_cast<size_t>(free.cause)] += free.row.duration_us;
      rows.push_back(free.row);
    }
  }
  outcome.tables = {TableOf(kFree, rows)};
  const auto longest = std::max_element(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return a.duration_us < b.duration_us;
  });
  ReportCauses(us, *longest, outcome);
  return {};
}

constexpr std::array kFreeAnalysisTables = {&kFree};
constexpr std::array kFreeAnalysisOptions = {&kFreeTop};

}  // namespace

extern const Mode kFreeAnalysisMode;
constexpr Mode kFreeAnalysisMode = {
    .name = "free_analysis",
    .folder = "FreeAnalysis",
    .summary = "Longest stretches in which a device did nothing, and why",
    .tables = kFreeAnalysisTables,
    .needs = recipes::Reads<store::DeviceTaskRow, store::CommunicationOpRow, store::FlowRow,
                            store::SliceRow>()
                 .WithBounds(),
    .wants =
        "two pieces of work of a device with time between (recorded with the device or, on a "
        "CPU, with --profile-with-cpu)",
    .options = kFreeAnalysisOptions,
    .map = &MapFreeAnalysis,
    .reduce = &ReduceFreeAnalysis};

}  // namespace sonde::cluster
