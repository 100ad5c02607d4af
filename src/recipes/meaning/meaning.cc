#include "recipes/meaning/meaning.h"

#include <algorithm>
#include <map>
#include <utility>

#include "recipes/overlap_analysis/overlap_analysis.h"
#include "store/collectives.h"

namespace sonde::recipes {
namespace {

struct TypedWork {
  std::string_view task_type;
  Work work;
};
// Types of tasks that are no kernels, as the profilers of NVIDIA, AMD and Ascend name them.
constexpr TypedWork kTypedWorks[] = {
    {"MEMCPY", Work::kCopy},
    {"MEMCPY_ASYNC", Work::kCopy},
    {"SDMA_SQE", Work::kCopy},
    {"PCIE_DMA_SQE", Work::kCopy},
    {"MEMSET", Work::kFill},
    {"EVENT_WAIT", Work::kSynchronisation},
    {"EVENT_WAIT_SQE", Work::kSynchronisation},
    {"EVENT_RECORD", Work::kSynchronisation},
    {"EVENT_RECORD_SQE", Work::kSynchronisation},
    {"NOTIFY_WAIT", Work::kSynchronisation},
    {"NOTIFY_WAIT_SQE", Work::kSynchronisation},
    {"NOTIFY_RECORD", Work::kSynchronisation},
    {"NOTIFY_RECORD_SQE", Work::kSynchronisation},
};

struct NamedDirection {
  std::string_view mark;
  std::string_view direction;
};
// As CUPTI, roctracer and XLA write them: "Memcpy HtoD (Pageable -> Device)", "CopyHostToDevice",
// "MemcpyH2D".
constexpr NamedDirection kDirections[] = {{"Memcpy HtoD", "host to device"},
                                          {"Memcpy DtoH", "device to host"},
                                          {"Memcpy DtoD", "device to device"},
                                          {"Memcpy HtoH", "host to host"},
                                          {"Memcpy PtoP", "peer to peer"},
                                          {"MemcpyH2D", "host to device"},
                                          {"MemcpyD2H", "device to host"},
                                          {"MemcpyD2D", "device to device"},
                                          {"MemcpyP2P", "peer to peer"},
                                          {"CopyHostToDevice", "host to device"},
                                          {"CopyDeviceToHost", "device to host"},
                                          {"CopyDeviceToDevice", "device to device"},
                                          {"Memcpy Host -> Device", "host to device"},
                                          {"Memcpy Device -> Host", "device to host"}};

bool MovesMemory(Work work) { return work == Work::kCopy || work == Work::kFill; }

template <class Take>
void ForEachCopy(const DeviceView& view, size_t device, Take&& take) {
  const std::vector<Work> meanings = MeaningsOf(*view.data);
  for (const store::DeviceTaskRow& task : view.data->tasks) {
    if (view.device_of_track[static_cast<size_t>(task.track_id)] != device) continue;
    if (!MovesMemory(meanings[static_cast<size_t>(task.kind_id)])) continue;
    take(task, Interval{task.ts, task.ts + std::max<int64_t>(task.dur, 0)});
  }
}

std::vector<Interval> Inside(std::span<const Interval> merged, int64_t from_ns, int64_t to_ns) {
  std::vector<Interval> inside;
  for (const Interval& one : merged) {
    const Interval clipped = {std::max(one.start_ns, from_ns), std::min(one.end_ns, to_ns)};
    if (clipped.start_ns < clipped.end_ns) inside.push_back(clipped);
  }
  return inside;
}

// From the first to the last moment of what belongs to a step.
struct CopySpan {
  int64_t first_ns = INT64_MAX;
  int64_t last_ns = INT64_MIN;
  void Cover(int64_t from_ns, int64_t to_ns) {
    first_ns = std::min(first_ns, from_ns);
    last_ns = std::max(last_ns, to_ns);
  }
};

// Of computing, communication and copies, by number of the step; one for all where none has one.
std::map<int64_t, CopySpan> SpansOf(const DeviceView& view, size_t device) {
  std::map<int64_t, CopySpan> spans;
  const std::vector<Work> meanings = MeaningsOf(*view.data);
  for (const store::DeviceTaskRow& task : view.data->tasks) {
    if (view.device_of_track[static_cast<size_t>(task.track_id)] != device) continue;
    const Work work = meanings[static_cast<size_t>(task.kind_id)];
    if (work == Work::kSynchronisation || work == Work::kOther) continue;
    spans[task.step_id].Cover(task.ts, task.ts + std::max<int64_t>(task.dur, 0));
  }
  for (size_t i = 0; i < view.data->communications.size(); ++i) {
    if (view.communications[i].device != device) continue;
    const store::CommunicationOpRow& op = view.data->communications[i];
    spans[op.step_id].Cover(op.ts, view.EndNs(op));
  }
  return spans;
}

}  // namespace

Work MeaningOf(std::string_view core, std::string_view task_type, std::string_view name) {
  if (core == "COMMUNICATION") return Work::kCommunication;
  if (!core.empty()) {
    // Of a CPU: by memory that processes share.
    const bool is_operator = core == "CPU" && !store::OperatorCollective(name).empty();
    return is_operator || IsCommunicationKernel(name) ? Work::kCommunication : Work::kComputing;
  }
  const auto* known =
      std::find_if(std::begin(kTypedWorks), std::end(kTypedWorks),
                   [&](const TypedWork& typed) { return typed.task_type == task_type; });
  return known == std::end(kTypedWorks) ? Work::kOther : known->work;
}

std::vector<Work> MeaningsOf(const TraceData& data) {
  std::vector<Work> meanings;
  meanings.reserve(data.kinds.size());
  for (const store::TaskKindRow& kind : data.kinds) {
    meanings.push_back(
        MeaningOf(data.Name(kind.core), data.Name(kind.task_type), data.Name(kind.name)));
  }
  return meanings;
}

std::string_view DirectionOf(std::string_view copy_name) {
  for (const NamedDirection& known : kDirections) {
    if (copy_name.starts_with(known.mark)) return known.direction;
  }
  return "unknown";
}

std::vector<Interval> CopiesOf(const DeviceView& view, size_t device) {
  std::vector<Interval> copies;
  ForEachCopy(view, device, [&](const store::DeviceTaskRow&, const Interval& interval) {
    copies.push_back(interval);
  });
  return Merge(std::move(copies));
}

std::vector<CopyTimes> CopyTimesOf(const DeviceView& view, size_t device) {
  const Device& shown = view.devices[device];
  const std::vector<Interval> busy = Unite(shown.overlap.computing, shown.overlap.communication);
  const std::vector<Interval> copies = CopiesOf(view, device);
  const std::vector<Interval> at_work = Unite(busy, copies);
  const std::map<int64_t, CopySpan> spans = SpansOf(view, device);
  std::map<int64_t, std::vector<Interval>> of_step;
  ForEachCopy(view, device, [&](const store::DeviceTaskRow& task, const Interval& interval) {
    of_step[task.step_id].push_back(interval);
  });
  std::vector<CopyTimes> times;
  for (const StepTraceRow& step : shown.steps) {
    CopyTimes& one = times.emplace_back();
    const auto span = spans.find(step.step_id.value_or(store::kNone));
    if (span == spans.end()) continue;
    const auto own = of_step.find(span->first);
    if (own != of_step.end()) one.copying_ns = TotalNs(Subtract(Merge(own->second), busy));
    const int64_t length_ns = span->second.last_ns - span->second.first_ns;
    one.idle_ns = length_ns - TotalNs(Inside(at_work, span->second.first_ns, span->second.last_ns));
  }
  return times;
}

std::vector<Interval> IdleOf(const DeviceView& view, size_t device) {
  const Overlap& overlap = view.devices[device].overlap;
  const std::vector<Interval> at_work =
      Unite(Unite(overlap.computing, overlap.communication), CopiesOf(view, device));
  if (at_work.empty()) return {};
  const Interval all = {at_work.front().start_ns, at_work.back().end_ns};
  return Subtract({&all, 1}, at_work);
}

std::vector<CopySum> SumCopies(const DeviceView& view) {
  const std::vector<Work> meanings = MeaningsOf(*view.data);
  std::vector<std::string_view> directions;
  for (const store::TaskKindRow& kind : view.data->kinds) {
    const bool is_fill = meanings[directions.size()] == Work::kFill;
    directions.push_back(is_fill ? "fill" : DirectionOf(view.data->Name(kind.name)));
  }
  std::map<std::string_view, CopySum> sums;
  for (const store::DeviceTaskRow& task : view.data->tasks) {
    const auto kind = static_cast<size_t>(task.kind_id);
    if (!MovesMemory(meanings[kind])) continue;
    CopySum& sum = sums[directions[kind]];
    sum.direction = directions[kind];
    ++sum.count;
    sum.total_ns += std::max<int64_t>(task.dur, 0);
  }
  std::vector<CopySum> sorted;
  for (const auto& [direction, sum] : sums) sorted.push_back(sum);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const CopySum& a, const CopySum& b) { return a.total_ns > b.total_ns; });
  return sorted;
}

}  // namespace sonde::recipes
