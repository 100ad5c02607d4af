#include "recipes/launch/launch.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "recipes/launch/replays.h"
#include "store/launch_calls.h"

namespace sonde::recipes {
namespace {

bool LeadsToDevice(const TraceData& data, const store::FlowRow& flow) {
  return flow.slice_in >= 0 && flow.slice_out >= 0 && data.Name(flow.kind) == "host_to_device";
}

// By name.
std::vector<bool> LaunchNames(const TraceData& data) {
  std::vector<bool> launches;
  launches.reserve(data.names.size());
  for (const std::string_view name : data.names) launches.push_back(store::IsLaunchCall(name));
  return launches;
}

}  // namespace

WorkArrows::WorkArrows(const TraceData& data) {
  for (const store::FlowRow& flow : data.flows) {
    if (!LeadsToDevice(data, flow)) continue;
    const auto place = static_cast<size_t>(flow.slice_in);
    if (place >= calls_.size()) calls_.resize(place + 1, store::kNone);
    if (calls_[place] == store::kNone) calls_[place] = flow.slice_out;
  }
}

Launches::Launches(const TraceData& data) : data_(data) {
  const WorkArrows arrows(data);
  calls_.reserve(data.tasks.size());
  for (const store::DeviceTaskRow& task : data.tasks) {
    const int32_t call = arrows.CallOf(task.slice_id);
    calls_.push_back(call >= 0 ? call : task.launch_slice_id);
  }
  captured_ = LaunchesOfReplays(data, calls_);
}

int32_t Launches::OperatorOf(size_t task) const {
  const int32_t recorded = data_.tasks[task].launch_slice_id;
  if (recorded >= 0) return recorded;
  return OperatorAround(data_, IsReplayed(task) ? captured_[task] : calls_[task]);
}

LaunchCounts CountLaunches(const TraceData& data) {
  const std::vector<bool> names = LaunchNames(data);
  const auto launches = [&](const store::SliceRow& slice) {
    return slice.name >= 0 && names[static_cast<size_t>(slice.name)];
  };
  std::vector<int32_t> calls;
  for (const store::SliceRow& slice : data.slices) {
    if (launches(slice)) calls.push_back(slice.slice_id);
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
      if (launches(data.Slice(id))) has_work[static_cast<size_t>(id)] = true;
    }
  }
  if (!has_arrows && !data.tasks.empty()) return {};  // nothing ties work to calls
  const auto works = [&](int32_t id) {
    while (id >= 0 && !has_work[static_cast<size_t>(id)]) id = data.Slice(id).parent_id;
    return id >= 0;
  };
  std::vector<bool> captured(data.slices.size());
  for (const std::vector<int32_t>& capture : CapturedLaunches(data)) {
    for (const int32_t call : capture) captured[static_cast<size_t>(call)] = true;
  }
  LaunchCounts counts;
  for (const int32_t call : calls) {
    const int32_t parent = data.Slice(call).parent_id;
    const bool is_within = parent >= 0 && launches(data.Slice(parent));
    if (is_within || captured[static_cast<size_t>(call)]) continue;
    ++counts.total;
    counts.with_work += works(call) ? 1 : 0;
  }
  return counts;
}

}  // namespace sonde::recipes
