#include "recipes/top_modules/top_modules.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "base/strings.h"
#include "capture/compiled_code.h"
#include "recipes/compiled_kernel/compiled_kernel.h"
#include "recipes/launch/launch.h"
#include "recipes/recipe.h"

namespace sonde::recipes {
namespace {

// Device time by the path of the innermost module of the launching call, or, where that is on a
// thread without modules (Ascend's task queue) or a graph's, of the operator.
std::vector<int64_t> SelfTimes(const TraceData& data, const ModuleCalls& calls) {
  const Launches launches(data);
  std::vector<int32_t> operators;
  operators.reserve(data.tasks.size());
  for (size_t i = 0; i < data.tasks.size(); ++i) operators.push_back(launches.OperatorOf(i));
  const std::vector<int32_t> around_calls = calls.PathsAround(launches.calls());
  const std::vector<int32_t> around_operators = calls.PathsAround(operators);
  std::vector<int64_t> self_ns(calls.path_count(), 0);
  for (size_t i = 0; i < data.tasks.size(); ++i) {
    const bool has_call = around_calls[i] >= 0 && !launches.IsReplayed(i);
    const int32_t path = has_call ? around_calls[i] : around_operators[i];
    if (path < 0) continue;
    self_ns[static_cast<size_t>(path)] += std::max<int64_t>(data.tasks[i].dur, 0);
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

// Of compiled code: tasks by the paths that their operators are fused with.
std::unordered_map<std::string_view, int64_t> FusedTimes(const TraceData& data) {
  std::unordered_map<std::string_view, int64_t> times;
  for (const CompiledKernelRow& row : CompiledKernels(data)) {
    for (const std::string_view path : base::Split(row.fused_with, ',')) {
      if (!path.empty()) times[base::Trim(path)] += row.total_ns;
    }
  }
  return times;
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
    const int32_t args = data.Slice(slice_id).args_id;
    if (!data.TextArgument(args, capture::kKeyCompiled).empty()) ++row.compiled_calls;
  }
  const auto fused = FusedTimes(data);
  for (ModuleRow& row : rows) {
    if (const auto time = fused.find(row.path); time != fused.end()) row.fused_ns = time->second;
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
