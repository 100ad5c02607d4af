#include "compare/frame/side.h"
#include "compare/frame/sort_runs.h"

namespace sonde::compare {
namespace {

using capture::TrackKind;
using recipes::TraceData;

// As profilers of PyTorch call what a program asks of its device: cuda_runtime, cuda_driver,
// xpu_runtime, Runtime.
bool IsRuntime(std::string_view category) {
  return category.ends_with("_runtime") || category.ends_with("_driver") || category == "runtime" ||
         category == "Runtime";
}

void Add(const TraceData& data, const store::SliceRow& slice, Side& side) {
  if (slice.dur < 0 || !side.window.Has(slice.ts)) return;
  side.calls.push_back({slice.name, slice.ts, data.EndNs(slice)});
}

}  // namespace

void TakeCalls(const TraceData& data, Side& side) {
  enum : int8_t { kUnknown, kNo, kYes };
  std::vector<int8_t> known(data.names.size(), kUnknown);  // by category
  for (const store::SliceRow& slice : data.slices) {
    if (slice.category < 0) continue;
    int8_t& is_call = known[static_cast<size_t>(slice.category)];
    if (is_call == kUnknown) is_call = IsRuntime(data.Name(slice.category)) ? kYes : kNo;
    if (is_call == kYes) Add(data, slice, side);
  }
  for (const int32_t id : data.SlicesOfKinds({TrackKind::kApi, TrackKind::kGarbageCollection})) {
    const store::SliceRow& slice = data.Slice(id);
    const bool is_there = slice.category >= 0 && known[static_cast<size_t>(slice.category)] == kYes;
    if (!is_there) Add(data, slice, side);
  }
  SortRuns(side.calls,
           [](const PythonRange& a, const PythonRange& b) { return a.begin_ns < b.begin_ns; });
}

}  // namespace sonde::compare
