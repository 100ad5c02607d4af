#include "recipes/launch/launch.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "store/launch_calls.h"

namespace sonde::recipes {
namespace {

bool LeadsToDevice(const TraceData& data, const store::FlowRow& flow) {
  return flow.slice_in >= 0 && flow.slice_out >= 0 && data.Name(flow.kind) == "host_to_device";
}

enum class CallKind : uint8_t { kOther, kLaunch, kBeginCapture, kEndCapture };

// By name.
std::vector<CallKind> CallKindsOf(const TraceData& data) {
  std::vector<CallKind> kinds;
  kinds.reserve(data.names.size());
  for (const std::string_view name : data.names) {
    const bool is_capture = name.find("StreamBeginCapture") != std::string_view::npos;
    kinds.push_back(store::IsLaunchCall(name) ? CallKind::kLaunch
                    : is_capture              ? CallKind::kBeginCapture
                    : name.find("StreamEndCapture") != std::string_view::npos
                        ? CallKind::kEndCapture
                        : CallKind::kOther);
  }
  return kinds;
}

// Launches between the begin and the end of a capture, by time on their thread.
std::vector<bool> RecordsGraph(const TraceData& data, std::span<const CallKind> kinds,
                               const std::vector<int32_t>& calls) {
  std::vector<bool> records(calls.size());
  struct Event {
    int32_t track;
    int64_t ts;
    size_t place;
  };
  std::vector<Event> events;
  for (size_t i = 0; i < calls.size(); ++i) {
    const store::SliceRow& slice = data.Slice(calls[i]);
    events.push_back({slice.track_id, slice.ts, i});
  }
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return std::pair(a.track, a.ts) < std::pair(b.track, b.ts);
  });
  int32_t track = store::kNone;
  bool captures = false;
  for (const Event& event : events) {
    if (event.track != track) captures = false;
    track = event.track;
    const CallKind kind = kinds[static_cast<size_t>(data.Slice(calls[event.place]).name)];
    if (kind == CallKind::kLaunch) {
      records[event.place] = captures;
    } else {
      captures = kind == CallKind::kBeginCapture;
    }
  }
  return records;
}

}  // namespace

WorkArrows::WorkArrows(const TraceData& data) {
  calls_.reserve(data.flows.size());
  for (const store::FlowRow& flow : data.flows) {
    if (LeadsToDevice(data, flow)) calls_.try_emplace(flow.slice_in, flow.slice_out);
  }
}

Launches::Launches(const TraceData& data) : data_(data) {
  const WorkArrows arrows(data);
  calls_.reserve(data.tasks.size());
  for (const store::DeviceTaskRow& task : data.tasks) {
    const int32_t call = arrows.CallOf(task.slice_id);
    calls_.push_back(call >= 0 ? call : task.launch_slice_id);
  }
}

int32_t Launches::OperatorOf(size_t task) const {
  const int32_t recorded = data_.tasks[task].launch_slice_id;
  if (recorded >= 0) return recorded;
  for (int32_t slice = calls_[task]; slice >= 0; slice = data_.Slice(slice).parent_id) {
    const auto op = std::lower_bound(
        data_.ops.begin(), data_.ops.end(), slice,
        [](const store::FrameworkOpRow& row, int32_t id) { return row.slice_id < id; });
    const bool is_op = op != data_.ops.end() && op->slice_id == slice;
    if (is_op && IsOperator(op->scope)) return slice;
  }
  return store::kNone;
}

LaunchCounts CountLaunches(const TraceData& data) {
  const std::vector<CallKind> kinds = CallKindsOf(data);
  const auto kind_of = [&](const store::SliceRow& slice) {
    return slice.name < 0 ? CallKind::kOther : kinds[static_cast<size_t>(slice.name)];
  };
  std::vector<int32_t> calls;
  for (const store::SliceRow& slice : data.slices) {
    if (kind_of(slice) != CallKind::kOther) calls.push_back(slice.slice_id);
  }
  if (calls.empty()) return {};
  // Of launches within each other the outermost has the work. Where arrows leave from what lies
  // around the call, all calls there count as if they had work.
  bool has_arrows = false;
  std::vector<bool> has_work(data.slices.size());
  for (const store::FlowRow& flow : data.flows) {
    if (!LeadsToDevice(data, flow)) continue;
    has_arrows = true;
    has_work[static_cast<size_t>(flow.slice_out)] = true;
    for (int32_t id = data.Slice(flow.slice_out).parent_id; id >= 0;
         id = data.Slice(id).parent_id) {
      if (kind_of(data.Slice(id)) == CallKind::kLaunch) has_work[static_cast<size_t>(id)] = true;
    }
  }
  if (!has_arrows && !data.tasks.empty()) return {};  // nothing ties work to calls
  const auto works = [&](int32_t id) {
    while (id >= 0 && !has_work[static_cast<size_t>(id)]) id = data.Slice(id).parent_id;
    return id >= 0;
  };
  const std::vector<bool> records = RecordsGraph(data, kinds, calls);
  LaunchCounts counts;
  for (size_t i = 0; i < calls.size(); ++i) {
    const store::SliceRow& slice = data.Slice(calls[i]);
    const bool is_within =
        slice.parent_id >= 0 && kind_of(data.Slice(slice.parent_id)) == CallKind::kLaunch;
    if (kind_of(slice) != CallKind::kLaunch || is_within || records[i]) continue;
    ++counts.total;
    counts.with_work += works(calls[i]) ? 1 : 0;
  }
  return counts;
}

}  // namespace sonde::recipes
