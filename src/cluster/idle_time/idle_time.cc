// idle_time: why the streams of each device did nothing between two pieces of work.
//
// Work is kernels, communication kernels, copies and memsets of a stream, in the order of time; it
// is idle for begin - latest end before, where that is above 0. Of that is
//   host wait    the call that launched the work began after that end: the host was late;
//   kernel wait  else, below 30 us: one kernel right after the other;
//   other wait   else: the launch was in time, or is not known; the stream waited for an event, for
//                another stream or for resources.
// The categories, and the 30 us, are those of HolisticTraceAnalysis. The call is the runtime's
// where an arrow leads from it to the work, else that of the vendor's interface or the operator.
// With --step_id work counts that begins in the step. Table IdleTime. Units: nanoseconds. Pure, any
// thread.
#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/strings.h"
#include "cluster/frame/add_finding.h"
#include "cluster/frame/facts.h"
#include "recipes/launch/launch.h"

namespace sonde::cluster {
namespace {

#define SONDE_COLUMNS_IDLE(C)                                                                     \
  C(rank, Int, "rankId", "", "", KeyOf("rank"), "global rank")                                    \
  C(device_id, Int, "deviceId", "", "", KeyOf("device"), "number of the device")                  \
  C(stream_id, Int, "streamId", "", "", KeyOf("stream"), "its stream; of a CPU the thread")       \
  C(busy_ns, Int, "BusyNs", "", "ns", kNeither, "time with work")                                 \
  C(idle_ns, Int, "IdleNs", "", "ns", kLess, "time without, between the first work and the last") \
  C(host_ns, Int, "HostWaitNs", "", "ns", kLess, "of it: the host launched late")                 \
  C(kernel_ns, Int, "KernelWaitNs", "", "ns", kLess, "of it: below 30 us between kernels")        \
  C(other_ns, Int, "OtherWaitNs", "", "ns", kLess, "of it: the rest")
SONDE_CLUSTER_TABLE(IdleRow, kIdle, "idle_time", "IdleTime", "idle_time", SONDE_COLUMNS_IDLE,
                    "idle time of streams by cause")

constexpr int64_t kKernelDelayNs = 30'000;

bool IsWork(const recipes::TraceData& data, const store::TaskKindRow& kind) {
  return kind.core != store::kNone || IsCopy(data, kind) ||
         data.Name(kind.name).starts_with("Memset");
}

struct IdleStream {
  IdleRow row;
  int64_t end = 0;  // latest so far
  bool has_work = false;
};

void Add(const store::DeviceTaskRow& task, const recipes::LaunchTimes& launches,
         IdleStream& stream) {
  const int64_t end = task.ts + std::max<int64_t>(task.dur, 0);
  const int64_t idle = stream.has_work ? task.ts - stream.end : 0;
  stream.row.busy_ns += std::max<int64_t>(end - std::max(task.ts, stream.end), 0);
  if (idle > 0) {
    stream.row.idle_ns += idle;
    const bool is_late = launches.Of(task) > stream.end;
    int64_t& part = is_late                 ? stream.row.host_ns
                    : idle < kKernelDelayNs ? stream.row.kernel_ns
                                            : stream.row.other_ns;
    part += idle;
  }
  stream.end = std::max(stream.end, end);
  stream.has_work = true;
}

Status MapIdleTime(const RankInput& rank, Part& part) {
  const recipes::TraceData& data = rank.data();
  const recipes::LaunchTimes launches(data);
  std::map<int32_t, IdleStream> streams;  // by track
  for (const store::DeviceTaskRow& task : data.tasks) {
    const store::TaskKindRow& kind = data.kinds[static_cast<size_t>(task.kind_id)];
    if (!IsWork(data, kind) || !rank.window.Has(task.ts)) continue;
    IdleStream& stream = streams[task.track_id];
    if (!stream.has_work) {
      stream.row.rank = rank.rank;
      stream.row.device_id = rank.view.DeviceOfTask(task).device_id;
      stream.row.stream_id = rank.view.StreamOf(task);
      stream.end = task.ts;
    }
    Add(task, launches, stream);
  }
  for (const auto& [track, stream] : streams) part.Rows<IdleRow>().push_back(stream.row);
  return {};
}

// The stream of a rank with most work shows what the rank waited for.
void ReportIdle(const std::vector<IdleRow>& rows, Outcome& outcome) {
  std::map<int64_t, const IdleRow*> main;
  for (const IdleRow& row : rows) {
    const IdleRow*& found = main[row.rank];
    if (found == nullptr || row.busy_ns > found->busy_ns) found = &row;
  }
  const auto share = [](const IdleRow& row) {
    const auto all = static_cast<double>(row.busy_ns + row.idle_ns);
    return all > 0 ? static_cast<double>(row.idle_ns) / all : 0;
  };
  const auto worst = std::max_element(main.begin(), main.end(), [&](const auto& a, const auto& b) {
    return share(*a.second) < share(*b.second);
  });
  const IdleRow& row = *worst->second;
  if (row.idle_ns == 0) {
    AddFinding(outcome, "cluster.no_idle", {}, kIdle);
    return;
  }
  const auto of_idle = [&](int64_t ns) {
    return Percent(static_cast<double>(ns), static_cast<double>(row.idle_ns));
  };
  recipes::Finding& finding =
      AddFinding(outcome, "cluster.idle",
                 {std::to_string(row.rank), Percent(share(row), 1), std::to_string(row.stream_id),
                  of_idle(row.host_ns), of_idle(row.kernel_ns), of_idle(row.other_ns)},
                 kIdle);
  finding.rank = row.rank;
  finding.value = share(row);
}

Status ReduceIdleTime(std::span<const RankPart> ranks, const ModeOptions& /*options*/,
                      Outcome& outcome) {
  std::vector<IdleRow> rows;
  for (const RankPart& rank : ranks) {
    const auto& own = rank.part.Rows<IdleRow>();
    rows.insert(rows.end(), own.begin(), own.end());
  }
  outcome.tables = {TableOf(kIdle, rows)};
  ReportIdle(rows, outcome);
  return {};
}

constexpr std::array kIdleTimeTables = {&kIdle};

}  // namespace

extern const Mode kIdleTimeMode;
constexpr Mode kIdleTimeMode = {
    .name = "idle_time",
    .folder = "IdleTime",
    .summary = "Idle time of the streams of each device by cause",
    .tables = kIdleTimeTables,
    .needs = recipes::Reads<store::DeviceTaskRow>() | recipes::LaunchTimes::kNeeds,
    .wants = kWantsKernels,
    .map = &MapIdleTime,
    .reduce = &ReduceIdleTime};

}  // namespace sonde::cluster
