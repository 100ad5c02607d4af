#include "recipes/top_modules/top_modules.h"

#include <algorithm>
#include <unordered_map>

#include "recipes/recipe.h"
#include "recipes/trace/op_order.h"

namespace sonde::recipes {
namespace {

// Device time by the innermost module of the launching operator, by name id.
std::vector<int64_t> SelfTimes(const TraceData& data) {
  std::vector<int32_t> module_of_slice(data.slices.size(), store::kNone);
  for (const store::FrameworkOpRow& op : data.ops) {
    module_of_slice[static_cast<size_t>(op.slice_id)] = op.module;
  }
  std::vector<int64_t> self_ns(data.names.size(), 0);
  for (const store::DeviceTaskRow& task : data.tasks) {
    if (task.launch_slice_id < 0) continue;
    const int32_t module = module_of_slice[static_cast<size_t>(task.launch_slice_id)];
    if (module >= 0) self_ns[static_cast<size_t>(module)] += std::max<int64_t>(task.dur, 0);
  }
  return self_ns;
}

}  // namespace

std::vector<ModuleRow> TopModules(const DeviceView& view) {
  const TraceData& data = *view.data;
  const std::vector<int64_t> self_ns = SelfTimes(data);
  std::unordered_map<int32_t, size_t> places;
  std::vector<ModuleRow> rows;
  // Modules called inside, as pairs of places: each pair counts once.
  std::vector<std::vector<size_t>> inside;
  const auto place_of = [&](const store::SliceRow& slice) {
    const auto [found, is_new] = places.try_emplace(slice.name, rows.size());
    if (is_new) {
      ModuleRow row;
      row.path = data.Name(slice.name);
      row.module_class = data.TextArgument(slice.args_id, "class");
      row.device_self_ns = slice.name < 0 ? 0 : self_ns[static_cast<size_t>(slice.name)];
      rows.push_back(row);
      inside.emplace_back();
    }
    return found->second;
  };
  for (const store::FrameworkOpRow& op : data.ops) {
    if (static_cast<Scope>(op.scope) != Scope::kModule) continue;
    const store::SliceRow& slice = data.Slice(op.slice_id);
    const size_t place = place_of(slice);
    ++rows[place].calls;
    rows[place].host_total_ns += data.DurationNs(slice);
    for (int32_t id = slice.parent_id; id >= 0; id = data.Slice(id).parent_id) {
      const size_t outer = place_of(data.Slice(id));
      if (outer == place) continue;
      auto& modules = inside[outer];
      if (std::find(modules.begin(), modules.end(), place) == modules.end()) {
        modules.push_back(place);
      }
    }
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].device_total_ns = rows[i].device_self_ns;
    for (const size_t module : inside[i]) rows[i].device_total_ns += rows[module].device_self_ns;
  }
  std::sort(rows.begin(), rows.end(), [](const ModuleRow& a, const ModuleRow& b) {
    if (a.device_total_ns != b.device_total_ns) return a.device_total_ns > b.device_total_ns;
    if (a.host_total_ns != b.host_total_ns) return a.host_total_ns > b.host_total_ns;
    return a.path < b.path;
  });
  return rows;
}

namespace {

void Run(const DeviceView& view, store::RowSink& rows) {
  for (const ModuleRow& row : TopModules(view)) row.Write(rows);
}

}  // namespace

extern const Recipe kTopModulesRecipe;
constexpr Recipe kTopModulesRecipe = {
    &kTopModules,
    Reads<store::SliceRow, store::FrameworkOpRow, store::DeviceTaskRow, store::ArgsTextRow>()
        .WithBounds(),
    &Run};

}  // namespace sonde::recipes
