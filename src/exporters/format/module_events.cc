#include "exporters/format/module_events.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/strings.h"

namespace sonde::exporters {
namespace {

using recipes::TraceData;

// Numbers of module instances: in their class, and over all.
class ModuleNumbers {
 public:
  explicit ModuleNumbers(const TraceData& data) : data_(data) {}

  // Name and number of the module whose call this slice is.
  std::pair<std::string, int64_t> Of(const store::SliceRow& slice) {
    const std::string_view path = data_.Name(slice.name);
    std::string_view module_class = data_.TextArgument(slice.args_id, "class");
    if (module_class.empty()) module_class = path;
    const auto key = std::pair(std::string(module_class), slice.name);
    auto [instance, is_new] = instances_.try_emplace(key);
    if (is_new) {
      instance->second.number = static_cast<int64_t>(instances_.size()) - 1;
      instance->second.name =
          base::Concat("nn.Module: ", module_class, "_", std::to_string(class_sizes_[key.first]++));
    }
    return {instance->second.name, instance->second.number};
  }

 private:
  struct Instance {
    std::string name;
    int64_t number = 0;
  };
  const TraceData& data_;
  std::map<std::pair<std::string, int32_t>, Instance> instances_;
  std::map<std::string, int64_t> class_sizes_;
};

std::vector<int32_t> SlicesByThread(const TraceData& data) {
  std::vector<int32_t> slices = data.SlicesOfKinds({"module", "python"});
  std::stable_sort(slices.begin(), slices.end(), [&](int32_t a, int32_t b) {
    const store::SliceRow& x = data.Slice(a);
    const store::SliceRow& y = data.Slice(b);
    const int32_t x_thread = data.TrackOf(x).thread_id;
    const int32_t y_thread = data.TrackOf(y).thread_id;
    if (x_thread != y_thread) return x_thread < y_thread;
    if (x.ts != y.ts) return x.ts < y.ts;
    return data.EndNs(x) > data.EndNs(y);
  });
  return slices;
}

}  // namespace

std::vector<PythonEvent> PythonEvents(const TraceData& data) {
  ModuleNumbers modules(data);
  std::vector<PythonEvent> events;
  std::vector<size_t> open;  // indices of events, outermost first
  int32_t thread = store::kNone;
  for (const int32_t id : SlicesByThread(data)) {
    const store::SliceRow& slice = data.Slice(id);
    if (data.TrackOf(slice).thread_id != thread) {
      thread = data.TrackOf(slice).thread_id;
      open.clear();
    }
    while (!open.empty() && data.EndNs(data.Slice(events[open.back()].slice_id)) <= slice.ts) {
      open.pop_back();
    }
    PythonEvent event;
    event.slice_id = id;
    event.python_id = static_cast<int64_t>(events.size()) + 1;
    event.parent_id = open.empty() ? 0 : events[open.back()].python_id;
    if (data.HasTrackKind(slice, "module")) {
      std::tie(event.name, event.module_id) = modules.Of(slice);
    } else {
      event.name = data.Name(slice.name);
    }
    open.push_back(events.size());
    events.push_back(std::move(event));
  }
  return events;
}

}  // namespace sonde::exporters
