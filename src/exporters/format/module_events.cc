#include "exporters/format/module_events.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/strings.h"

namespace sonde::exporters {
namespace {

using recipes::TraceData;

// Names of events, and numbers of module instances: in their class, and over all. A trace has many
// calls of few modules and functions, which are found again by their ids in the store.
class Names {
 public:
  struct Known {
    uint32_t name = 0;
    int64_t module_id = -1;
  };

  Names(const TraceData& data, std::vector<std::string>& names) : data_(data), names_(names) {}

  Known OfModuleCall(const store::SliceRow& slice) {
    const auto [known, is_new] = calls_.try_emplace(std::pair(slice.name, slice.args_id));
    if (is_new) known->second = Module(slice);
    return known->second;
  }

  Known OfFunction(const store::SliceRow& slice) {
    const auto [known, is_new] = functions_.try_emplace(slice.name);
    if (is_new) known->second.name = Add(std::string(data_.Name(slice.name)));
    return known->second;
  }

 private:
  // Calls with different arguments may be of one instance.
  Known Module(const store::SliceRow& slice) {
    const std::string_view path = data_.Name(slice.name);
    std::string_view module_class = data_.TextArgument(slice.args_id, "class");
    if (module_class.empty()) module_class = path;
    const auto key = std::pair(std::string(module_class), slice.name);
    auto [instance, is_new] = instances_.try_emplace(key);
    if (is_new) {
      instance->second.module_id = static_cast<int64_t>(instances_.size()) - 1;
      instance->second.name = Add(base::Concat("nn.Module: ", module_class, "_",
                                               std::to_string(class_sizes_[key.first]++)));
    }
    return instance->second;
  }

  uint32_t Add(std::string name) {
    names_.push_back(std::move(name));
    return static_cast<uint32_t>(names_.size() - 1);
  }

  const TraceData& data_;
  std::vector<std::string>& names_;
  std::map<std::pair<int32_t, int32_t>, Known> calls_;          // by name and arguments
  std::unordered_map<int32_t, Known> functions_;                // by name
  std::map<std::pair<std::string, int32_t>, Known> instances_;  // by class and name
  std::map<std::string, int64_t> class_sizes_;
};

std::vector<int32_t> SlicesByThread(const TraceData& data) {
  std::vector<int32_t> slices =
      data.SlicesOfKinds({recipes::TrackKind::kModule, recipes::TrackKind::kPython});
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

PythonEventList PythonEvents(const TraceData& data) {
  PythonEventList list;
  std::vector<PythonEvent>& events = list.events;
  Names names(data, list.names);
  std::vector<size_t> open;  // indices of events, outermost first
  int32_t thread = store::kNone;
  const std::vector<int32_t> slices = SlicesByThread(data);
  events.reserve(slices.size());
  for (const int32_t id : slices) {
    const store::SliceRow& slice = data.Slice(id);
    if (data.TrackOf(slice).thread_id != thread) {
      thread = data.TrackOf(slice).thread_id;
      open.clear();
    }
    while (!open.empty() && data.EndNs(data.Slice(events[open.back()].slice_id)) <= slice.ts) {
      open.pop_back();
    }
    const Names::Known known = data.HasTrackKind(slice, recipes::TrackKind::kModule)
                                   ? names.OfModuleCall(slice)
                                   : names.OfFunction(slice);
    PythonEvent event;
    event.slice_id = id;
    event.name = known.name;
    event.python_id = static_cast<int64_t>(events.size()) + 1;
    event.parent_id = open.empty() ? 0 : events[open.back()].python_id;
    event.module_id = known.module_id;
    open.push_back(events.size());
    events.push_back(event);
  }
  return list;
}

}  // namespace sonde::exporters
