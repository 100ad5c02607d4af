// kernel_time: where the time of each device went, by type of kernel and by kernel.
//
//   types    computation, communication and memory (copies, memsets); where several run at once the
//            time is theirs together ("COMPUTATION overlapping COMMUNICATION"), so that the types
//            of a rank are parts of the time in which anything ran
//   overlap  of the time of communication that in which kernels compute, in percent
//   kernels  by rank, type and name: durations, and their share of the rank's kernels of that type
// As HolisticTraceAnalysis defines them. A device's communication operations count where it has no
// kernels of theirs. With --step_id work counts that begins in the step. Tables KernelTypeTime,
// KernelTime, CommunicationOverlap. Units: nanoseconds. Pure, any thread.
#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <utility>

#include "base/shortened.h"
#include "base/strings.h"
#include "cluster/frame/add_finding.h"
#include "cluster/frame/facts.h"
#include "cluster/frame/statistics.h"
#include "recipes/intervals.h"

namespace sonde::cluster {
namespace {

using recipes::Interval;

#define SONDE_COLUMNS_KERNEL_TYPE(C)                                                  \
  C(rank, Int, "rankId", "", "", KeyOf("rank"), "global rank")                        \
  C(type, Text, "kernelType", "", "", KeyOf("kernel_type"), "types that run at once") \
  C(time_ns, Int, "TimeNs", "", "ns", kLess, "time in which exactly these run")       \
  C(percent, Double, "percentage", "", "%", kNeither, "of the time in which anything runs")
SONDE_CLUSTER_TABLE(KernelTypeRow, kTypes, "kernel_type_time", "KernelTypeTime", "kernel_type_time",
                    SONDE_COLUMNS_KERNEL_TYPE, "time of types of kernels by rank")

#define SONDE_COLUMNS_KERNEL_TIME(C)                                          \
  C(rank, Int, "rankId", "", "", KeyOf("rank"), "global rank")                \
  C(type, Text, "kernelType", "", "", KeyOf("kernel_type"), "its type")       \
  C(name, Text, "kernelName", "", "", KeyOf("kernel"), "kernel or operation") \
  SONDE_STATISTICS(C)                                                         \
  C(percent, Double, "percentage", "", "%", kNeither, "of the rank's kernels of this type")
SONDE_CLUSTER_TABLE(KernelTimeRow, kKernels, "kernel_time", "KernelTime", "kernel_time",
                    SONDE_COLUMNS_KERNEL_TIME, "durations of kernels by rank")

#define SONDE_COLUMNS_OVERLAP(C)                                                           \
  C(rank, Int, "rankId", "", "", KeyOf("rank"), "global rank")                             \
  C(computing_ns, Int, "ComputationNs", "", "ns", kNeither, "time of computation")         \
  C(communicating_ns, Int, "CommunicationNs", "", "ns", kNeither, "time of communication") \
  C(overlap_ns, Int, "OverlapNs", "", "ns", kMore, "time of both at once")                 \
  C(percent, Double, "overlapPercentage", "", "%", kMore, "of communication; NULL: there is none")
SONDE_CLUSTER_TABLE(OverlapRow, kOverlap, "communication_overlap", "CommunicationOverlap",
                    "communication_overlap", SONDE_COLUMNS_OVERLAP,
                    "communication that computing hides by rank")

enum Type : uint8_t { kComputation, kCommunication, kMemory, kTypeCount };
constexpr std::array<std::string_view, kTypeCount> kNames = {"COMPUTATION", "COMMUNICATION",
                                                             "MEMORY"};

struct Work {
  std::array<std::vector<Interval>, kTypeCount> times;
  std::map<std::pair<Type, std::string>, std::vector<double>> kernels;

  void Add(Type type, std::string_view name, int64_t begin, int64_t end) {
    times[type].push_back({begin, end});
    kernels[{type, std::string(name)}].push_back(static_cast<double>(end - begin));
  }
};

Work WorkOf(const RankInput& rank) {
  const recipes::TraceData& data = rank.data();
  Work work;
  for (const store::DeviceTaskRow& task : data.tasks) {
    const store::TaskKindRow& kind = data.kinds[static_cast<size_t>(task.kind_id)];
    const std::string_view name = data.Name(kind.name);
    const bool is_memory = IsCopy(data, kind) || name.starts_with("Memset");
    if ((kind.core == store::kNone && !is_memory) || !rank.window.Has(task.ts)) continue;
    const Type type = is_memory ? kMemory : IsComputing(data, kind) ? kComputation : kCommunication;
    work.Add(type, name, task.ts, task.ts + std::max<int64_t>(task.dur, 0));
  }
  if (!work.times[kCommunication].empty()) return work;
  for (size_t i = 0; i < data.communications.size(); ++i) {
    const store::CommunicationOpRow& op = data.communications[i];
    if (!rank.window.Has(op.ts)) continue;
    work.Add(kCommunication, NamedCommunicationType(rank.view.communications[i]), op.ts,
             rank.view.EndNs(op));
  }
  return work;
}

// Time in which exactly the types of a set run, by the set as bits.
std::map<unsigned, int64_t> TimesOfSets(const Work& work) {
  std::map<int64_t, std::array<int, kTypeCount>> changes;
  for (size_t type = 0; type < kTypeCount; ++type) {
    for (const Interval& one : recipes::Merge(work.times[type])) {
      ++changes[one.start_ns][type];
      --changes[one.end_ns][type];
    }
  }
  std::map<unsigned, int64_t> times;
  std::array<int, kTypeCount> open{};
  int64_t before = 0;
  for (const auto& [ts, change] : changes) {
    unsigned set = 0;
    for (size_t type = 0; type < kTypeCount; ++type) {
      if (open[type] > 0) set |= 1U << type;
      open[type] += change[type];
    }
    if (set != 0) times[set] += ts - before;
    before = ts;
  }
  return times;
}

void AddTypes(const RankInput& rank, const Work& work, Part& part) {
  const std::map<unsigned, int64_t> times = TimesOfSets(work);
  int64_t all = 0;
  OverlapRow overlap{.rank = rank.rank};
  for (const auto& [set, ns] : times) {
    const bool computes = (set >> kComputation & 1U) != 0;
    const bool communicates = (set >> kCommunication & 1U) != 0;
    all += ns;
    if (computes) overlap.computing_ns += ns;
    if (communicates) overlap.communicating_ns += ns;
    if (computes && communicates) overlap.overlap_ns += ns;
  }
  for (const auto& [set, ns] : times) {
    std::vector<std::string_view> names;
    for (size_t type = 0; type < kTypeCount; ++type) {
      if ((set >> type & 1U) != 0) names.push_back(kNames[type]);
    }
    part.Rows<KernelTypeRow>().push_back(
        {.rank = rank.rank,
         .type = base::Join(names, " overlapping "),
         .time_ns = ns,
         .percent = 100 * static_cast<double>(ns) / static_cast<double>(all)});
  }
  overlap.percent = overlap.communicating_ns == 0
                        ? std::numeric_limits<double>::quiet_NaN()
                        : 100 * static_cast<double>(overlap.overlap_ns) /
                              static_cast<double>(overlap.communicating_ns);
  part.Rows<OverlapRow>().push_back(overlap);
}

Status MapKernelTime(const RankInput& rank, Part& part) {
  Work work = WorkOf(rank);
  if (work.kernels.empty()) return {};
  AddTypes(rank, work, part);
  std::array<double, kTypeCount> sums{};
  for (const auto& [key, durations] : work.kernels) {
    for (const double ns : durations) sums[key.first] += ns;
  }
  for (auto& [key, durations] : work.kernels) {
    KernelTimeRow row{
        .rank = rank.rank, .type = std::string(kNames[key.first]), .name = key.second};
    Set(Describe(durations), row);
    const double sum = sums[key.first];
    row.percent = sum > 0 ? 100 * row.sum_ns / sum : 0;
    part.Rows<KernelTimeRow>().push_back(std::move(row));
  }
  return {};
}

void ReportKernels(const std::vector<KernelTimeRow>& kernels,
                   const std::vector<OverlapRow>& overlaps, Outcome& outcome) {
  const auto longest =
      std::max_element(kernels.begin(), kernels.end(),
                       [](const auto& a, const auto& b) { return a.sum_ns < b.sum_ns; });
  recipes::Finding& finding =
      AddFinding(outcome, "cluster.kernel_time",
                 {base::Shortened(longest->name), Duration(longest->sum_ns),
                  std::to_string(longest->rank), Fixed(longest->percent, 1), longest->type},
                 kKernels);
  finding.rank = longest->rank;
  const OverlapRow* least = nullptr;
  for (const OverlapRow& row : overlaps) {
    if (row.communicating_ns == 0) continue;
    if (least == nullptr || row.percent < least->percent) least = &row;
  }
  if (least == nullptr) return;
  AddFinding(outcome, "cluster.overlap",
             {std::to_string(least->rank), Fixed(least->percent, 1),
              Duration(static_cast<double>(least->communicating_ns - least->overlap_ns))},
             kOverlap);
}

template <class Row>
std::vector<Row> RowsOf(std::span<const RankPart> ranks) {
  std::vector<Row> rows;
  for (const RankPart& rank : ranks) {
    const auto& own = rank.part.Rows<Row>();
    rows.insert(rows.end(), own.begin(), own.end());
  }
  return rows;
}

Status ReduceKernelTime(std::span<const RankPart> ranks, const ModeOptions& /*options*/,
                        Outcome& outcome) {
  const auto overlaps = RowsOf<OverlapRow>(ranks);
  auto kernels = RowsOf<KernelTimeRow>(ranks);
  std::stable_sort(kernels.begin(), kernels.end(), [](const auto& a, const auto& b) {
    return std::pair(a.rank, -a.sum_ns) < std::pair(b.rank, -b.sum_ns);
  });
  outcome.tables = {TableOf(kTypes, RowsOf<KernelTypeRow>(ranks)), TableOf(kKernels, kernels),
                    TableOf(kOverlap, overlaps)};
  ReportKernels(kernels, overlaps, outcome);
  return {};
}

constexpr std::array kKernelTimeTables = {&kTypes, &kKernels, &kOverlap};

}  // namespace

extern const Mode kKernelTimeMode;
constexpr Mode kKernelTimeMode = {
    .name = "kernel_time",
    .folder = "KernelTime",
    .summary = "Time of each device by type of kernel and by kernel, and what overlaps",
    .tables = kKernelTimeTables,
    .needs = recipes::Reads<store::DeviceTaskRow, store::CommunicationOpRow>().WithBounds(),
    .wants = kWantsKernels,
    .map = &MapKernelTime,
    .reduce = &ReduceKernelTime};

}  // namespace sonde::cluster
