#include "exporters/format/rest_slices.h"

#include <algorithm>
#include <map>

#include "base/strings.h"

namespace sonde::exporters {
namespace {

using recipes::TraceData;

bool IsOfOtherLayer(const TraceData& data, const store::TrackRow& track) {
  using enum recipes::TrackKind;
  constexpr recipes::TrackKind kKinds[] = {kModule,  kPython, kGarbageCollection,
                                           kOverlap, kSpan,   kCollectiveWork};
  return std::ranges::any_of(kKinds, [&](auto kind) { return data.IsOfKind(track, kind); });
}

}  // namespace

std::vector<int32_t> RestSlices(const recipes::DeviceView& view) {
  const TraceData& data = *view.data;
  std::vector<bool> is_covered(data.slices.size());
  const auto cover = [&](int32_t slice) {
    if (slice >= 0) is_covered[static_cast<size_t>(slice)] = true;
  };
  for (const store::FrameworkOpRow& op : data.ops) cover(op.slice_id);
  for (const store::DeviceTaskRow& task : data.tasks) cover(task.slice_id);
  for (const store::CommunicationOpRow& op : data.communications) cover(op.slice_id);
  for (const store::MarkRow& mark : data.marks) cover(mark.slice_id);
  for (const store::ApiCallRow& call : data.api_calls) cover(call.slice_id);
  std::vector<bool> is_other(data.tracks.size());
  for (size_t i = 0; i < is_other.size(); ++i) {
    is_other[i] = IsOfOtherLayer(data, data.tracks[i]);
  }
  std::vector<int32_t> rest;
  for (const store::SliceRow& slice : data.slices) {
    if (is_covered[static_cast<size_t>(slice.slice_id)]) continue;
    if (!is_other[static_cast<size_t>(slice.track_id)]) rest.push_back(slice.slice_id);
  }
  return rest;
}

bool IsQueueSlice(const TraceData& data, const store::SliceRow& slice) {
  const std::string_view category = data.Name(slice.category);
  return category == "task_queue" || category == "enqueue" || category == "dequeue";
}

bool IsRuntimeCall(const TraceData& data, const store::SliceRow& slice) {
  const std::string_view category = data.Name(slice.category);
  return category.ends_with("_runtime") || category.ends_with("_driver") || category == "Runtime" ||
         category == "Driver";
}

void LeaveOutSlices(const TraceData& data, std::span<const int32_t> slices, std::string_view form,
                    LeftOut* left_out) {
  if (left_out == nullptr) return;
  std::map<std::string_view, int64_t> by_category;
  for (const int32_t id : slices) {
    const store::SliceRow& slice = data.Slice(id);
    const std::string_view category = data.Name(slice.category);
    ++by_category[category.empty() ? data.Name(data.TrackOf(slice).kind) : category];
  }
  for (const auto& [category, count] : by_category) {
    left_out->Add(form, base::Concat("slices of the category '", category, "'"), count);
  }
}

}  // namespace sonde::exporters
