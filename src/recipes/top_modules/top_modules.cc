#include "recipes/top_modules/top_modules.h"

#include <algorithm>
#include <unordered_map>

#include "recipes/recipe.h"

namespace sonde::recipes {
namespace {

// By the slice of a task the call that an arrow leads from; only where tasks are without operator.
std::unordered_map<int32_t, int32_t> ArrowsTo(const TraceData& data) {
  std::unordered_map<int32_t, int32_t> arrows;
  if (std::none_of(data.tasks.begin(), data.tasks.end(),
                   [](const store::DeviceTaskRow& task) { return task.launch_slice_id < 0; })) {
    return arrows;
  }
  for (const store::FlowRow& flow : data.flows) {
    if (flow.slice_in >= 0 && flow.slice_out >= 0 && data.Name(flow.kind) == "host_to_device") {
      arrows.try_emplace(flow.slice_in, flow.slice_out);
    }
  }
  return arrows;
}

// The call on the host that a task comes from: its operator, else the one that an arrow leads from.
std::vector<int32_t> LaunchesOf(const TraceData& data) {
  const std::unordered_map<int32_t, int32_t> arrows = ArrowsTo(data);
  std::vector<int32_t> launches;
  launches.reserve(data.tasks.size());
  for (const store::DeviceTaskRow& task : data.tasks) {
    int32_t launch = task.launch_slice_id;
    if (launch < 0) {
      const auto arrow = arrows.find(task.slice_id);
      if (arrow != arrows.end()) launch = arrow->second;
    }
    launches.push_back(launch);
  }
  return launches;
}

// Device time by the path of the innermost module of the launching call.
std::vector<int64_t> SelfTimes(const TraceData& data, const ModuleCalls& calls) {
  const std::vector<int32_t> around = calls.PathsAround(LaunchesOf(data));
  std::vector<int64_t> self_ns(calls.path_count(), 0);
  for (size_t i = 0; i < data.tasks.size(); ++i) {
    if (around[i] < 0) continue;
    self_ns[static_cast<size_t>(around[i])] += std::max<int64_t>(data.tasks[i].dur, 0);
  }
  return self_ns;
}

// Paths of the modules called inside of each, each once.
std::vector<std::vector<int32_t>> PathsInside(const TraceData& data, const ModuleCalls& calls) {
  std::vector<std::vector<int32_t>> inside(calls.path_count());
  for (const int32_t slice_id : calls.slices()) {
    const int32_t path = calls.PathOf(slice_id);
    for (int32_t id = data.Slice(slice_id).parent_id; id >= 0; id = data.Slice(id).parent_id) {
      const int32_t outer = calls.PathOf(id);
      if (outer < 0 || outer == path) continue;
      inside[static_cast<size_t>(outer)].push_back(path);
    }
  }
  for (std::vector<int32_t>& paths : inside) {
    std::sort(paths.begin(), paths.end());
    paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  }
  return inside;
}

}  // namespace

std::vector<ModuleRow> TopModules(const TraceData& data, const ModuleCalls& calls) {
  if (calls.slices().empty()) return {};
  const std::vector<int64_t> self_ns = SelfTimes(data, calls);
  const std::vector<std::vector<int32_t>> inside = PathsInside(data, calls);
  std::vector<ModuleRow> rows(calls.path_count());
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].path = calls.Path(static_cast<int32_t>(i));
    rows[i].device_self_ns = self_ns[i];
    rows[i].device_total_ns = self_ns[i];
    for (const int32_t path : inside[i]) {
      rows[i].device_total_ns += self_ns[static_cast<size_t>(path)];
    }
  }
  for (const int32_t slice_id : calls.slices()) {
    ModuleRow& row = rows[static_cast<size_t>(calls.PathOf(slice_id))];
    if (row.calls++ == 0) row.module_class = calls.ClassOf(slice_id);
    row.host_total_ns += data.DurationNs(data.Slice(slice_id));
  }
  std::sort(rows.begin(), rows.end(), [](const ModuleRow& a, const ModuleRow& b) {
    if (a.device_total_ns != b.device_total_ns) return a.device_total_ns > b.device_total_ns;
    if (a.host_total_ns != b.host_total_ns) return a.host_total_ns > b.host_total_ns;
    return a.path < b.path;
  });
  return rows;
}

namespace {

void RunTopModules(const DeviceView& view, store::RowSink& rows) {
  const ModuleCalls calls(*view.data);
  for (const ModuleRow& row : TopModules(*view.data, calls)) row.Write(rows);
}

}  // namespace

extern const Recipe kTopModulesRecipe;
constexpr Recipe kTopModulesRecipe = {
    &kTopModules,
    Reads<store::SliceRow, store::FrameworkOpRow, store::DeviceTaskRow, store::ArgsTextRow,
          store::FlowRow>()
        .WithBounds(),
    &RunTopModules};

}  // namespace sonde::recipes
