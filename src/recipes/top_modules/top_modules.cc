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

// Device time of each call, without those inside: of tasks whose launching call, or, where that is
// on a thread without modules (Ascend's task queue) or a graph's, whose operator begins in it.
std::vector<int64_t> OwnTimes(const TraceData& data, const ModuleCalls& calls) {
  const Launches launches(data);
  std::vector<int32_t> operators;
  operators.reserve(data.tasks.size());
  for (size_t i = 0; i < data.tasks.size(); ++i) operators.push_back(launches.OperatorOf(i));
  const std::vector<int32_t> around_launches = calls.CallsAround(launches.calls());
  const std::vector<int32_t> around_operators = calls.CallsAround(operators);
  std::vector<int64_t> own_ns(calls.slices().size(), 0);
  for (size_t i = 0; i < data.tasks.size(); ++i) {
    const bool has_launch = around_launches[i] >= 0 && !launches.IsReplayed(i);
    const int32_t call = has_launch ? around_launches[i] : around_operators[i];
    if (call < 0) continue;
    own_ns[static_cast<size_t>(call)] += std::max<int64_t>(data.tasks[i].dur, 0);
  }
  return own_ns;
}

// Adds the time of a call to its path and to those of the calls around it, each once: a module that
// two others share counts for the one that called it, and one that calls itself not twice.
void AddDeviceTime(const TraceData& data, const ModuleCalls& calls, int32_t slice_id, int64_t ns,
                   std::vector<ModuleRow>& rows) {
  std::vector<int32_t> seen;
  for (int32_t id = slice_id; id >= 0; id = data.Slice(id).parent_id) {
    const int32_t path = calls.PathOf(id);
    if (path < 0 || std::find(seen.begin(), seen.end(), path) != seen.end()) continue;
    if (seen.empty()) rows[static_cast<size_t>(path)].device_self_ns += ns;
    rows[static_cast<size_t>(path)].device_total_ns += ns;
    seen.push_back(path);
  }
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
  const std::vector<int64_t> own_ns = OwnTimes(data, calls);
  std::vector<ModuleRow> rows(calls.path_count());
  for (size_t i = 0; i < rows.size(); ++i) rows[i].path = calls.Path(static_cast<int32_t>(i));
  for (size_t i = 0; i < own_ns.size(); ++i) {
    if (own_ns[i] > 0) AddDeviceTime(data, calls, calls.slices()[i], own_ns[i], rows);
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
