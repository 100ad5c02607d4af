#include "cluster/communication_bottleneck/streams.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/strings.h"
#include "cluster/frame/facts.h"

namespace sonde::cluster {
namespace {

using base::Concat;
using Stream = StreamEvent::Stream;

void AddDevice(const RankInput& rank, std::vector<StreamEvent>& events) {
  const recipes::TraceData& data = rank.data();
  for (const store::DeviceTaskRow& task : data.tasks) {
    const store::TaskKindRow& kind = data.kinds[static_cast<size_t>(task.kind_id)];
    if (!IsComputing(data, kind) && !IsCopy(data, kind)) continue;
    const int32_t name = IsCopy(data, kind) ? kind.task_type : kind.name;
    events.push_back({Stream::kDevice, std::string(data.Name(name)), task.ts,
                      task.ts + std::max<int64_t>(task.dur, 0)});
  }
  for (size_t i = 0; i < data.communications.size(); ++i) {
    const store::CommunicationOpRow& op = data.communications[i];
    events.push_back(
        {Stream::kDevice, rank.view.communications[i].name, op.ts, rank.view.EndNs(op)});
  }
}

void AddHost(const recipes::TraceData& data, std::vector<StreamEvent>& events) {
  for (const store::FrameworkOpRow& op : data.ops) {
    const store::SliceRow& slice = data.Slice(op.slice_id);
    const std::string_view name = data.Name(slice.name);
    if (name.find("::") == std::string_view::npos) continue;
    events.push_back({Stream::kFramework, std::string(name), slice.ts, data.EndNs(slice)});
  }
  for (const store::ApiCallRow& call : data.api_calls) {
    const store::SliceRow& slice = data.Slice(call.slice_id);
    events.push_back({Stream::kHostInterface,
                      Concat(data.Name(call.level), "@", data.Name(slice.name)), slice.ts,
                      data.EndNs(slice)});
  }
}

void AddLaunches(const recipes::TraceData& data, std::vector<LaunchedTask>& launches) {
  std::unordered_map<int64_t, const store::SliceRow*> calls;
  for (const store::ApiCallRow& call : data.api_calls) {
    const store::SliceRow& slice = data.Slice(call.slice_id);
    const bool is_launch = data.Name(call.level) == "node" && data.Name(slice.name) == "launch";
    if (is_launch && call.connection_id >= 0) calls.emplace(call.connection_id, &slice);
  }
  for (const store::DeviceTaskRow& task : data.tasks) {
    const auto call = calls.find(task.connection_id);
    if (call == calls.end() || task.launch_slice_id < 0) continue;
    launches.push_back({.begin = task.ts,
                        .end = task.ts + std::max<int64_t>(task.dur, 0),
                        .call_begin = call->second->ts,
                        .call_end = data.EndNs(*call->second),
                        .framework_end = data.EndNs(data.Slice(task.launch_slice_id))});
  }
}

Status MapStreams(const RankInput& rank, Part& part) {
  std::vector<StreamEvent>& events = part.Rows<StreamEvent>();
  AddDevice(rank, events);
  AddHost(rank.data(), events);
  std::stable_sort(events.begin(), events.end(),
                   [](const auto& a, const auto& b) { return a.begin < b.begin; });
  AddLaunches(rank.data(), part.Rows<LaunchedTask>());
  return {};
}

Status ReduceStreams(std::span<const RankPart> /*ranks*/, const ModeOptions& /*options*/,
                     Outcome& /*outcome*/) {
  return {};
}

}  // namespace

constexpr Mode kStreamsMode = {
    .name = "streams",
    .folder = "Streams",
    .summary = "what host and device did",
    .tables = {},
    .needs = recipes::Reads<store::DeviceTaskRow, store::CommunicationOpRow, store::SliceRow,
                            store::FrameworkOpRow, store::ApiCallRow>()
                 .WithBounds(),
    .wants = kWantsKernels,
    .map = &MapStreams,
    .reduce = &ReduceStreams};

Drift CompareStreams(const std::vector<const StreamEvent*>& slow,
                     const std::vector<const StreamEvent*>& fast, int64_t shift_ns) {
  constexpr int64_t kAlignedNs = 1'000'000;
  Drift drift;
  size_t next = fast.size();  // the fast ones that are left lie before it
  for (size_t i = slow.size(); i-- > 0;) {
    size_t at = next;
    while (at > 0 && fast[at - 1]->name != slow[i]->name) --at;
    if (at == 0) continue;  // the fast rank has none of that name
    next = at - 1;
    const StreamEvent& other = *fast[next];
    const int64_t later_ns = slow[i]->begin - other.begin + shift_ns;
    const int64_t longer_ns = (slow[i]->end - slow[i]->begin) - (other.end - other.begin);
    if (!drift.has_any || longer_ns > drift.longest_ns) {
      std::tie(drift.longest_ns, drift.longest_name) = std::pair(longer_ns, slow[i]->name);
    }
    if (!drift.has_any || later_ns > drift.latest_ns) {
      std::tie(drift.latest_ns, drift.latest_name) = std::pair(later_ns, slow[i]->name);
    }
    drift.has_any = true;
    drift.is_aligned = later_ns < kAlignedNs;
    if (drift.is_aligned) break;
  }
  return drift;
}

}  // namespace sonde::cluster
