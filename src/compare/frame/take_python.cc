#include <cctype>

#include "base/strings.h"
#include "compare/frame/name_predicate.h"
#include "compare/frame/side.h"
#include "compare/frame/sort_runs.h"

namespace sonde::compare {
namespace {

using capture::TrackKind;
using recipes::TraceData;

bool IsModule(std::string_view name) {
  constexpr std::string_view kPrefix = "nn.module:";
  return base::ToLower(name.substr(0, kPrefix.size())) == kPrefix;
}

bool Before(const PythonRange& a, const PythonRange& b) {
  return a.begin_ns != b.begin_ns ? a.begin_ns < b.begin_ns : a.end_ns > b.end_ns;
}

void TakeRanges(const TraceData& data, Side& side) {
  NamePredicate modules(data.names, IsModule);
  for (const int32_t id : data.SlicesOfKinds({TrackKind::kModule, TrackKind::kPython})) {
    const store::SliceRow& slice = data.Slice(id);
    // Captures of Sonde name a module by its path.
    const bool is_module = data.HasTrackKind(slice, TrackKind::kModule) || modules.Of(slice.name);
    // The functions that a step was called from began before it.
    if (is_module && !side.window.Has(slice.ts)) continue;
    auto& list = is_module ? side.modules : side.functions;
    list.push_back({slice.name, slice.ts, data.EndNs(slice)});
  }
  for (const int32_t id : data.SlicesOfKinds({TrackKind::kGarbageCollection})) {
    const store::SliceRow& slice = data.Slice(id);
    side.collections.push_back({slice.name, slice.ts, data.EndNs(slice)});
  }
  SortRuns(side.modules, Before);
  SortRuns(side.functions, Before);
}

}  // namespace

void TakePython(const TraceData& data, Side& side) {
  TakeRanges(data, side);
  for (const store::FlowRow& flow : data.flows) {
    if (data.Name(flow.kind) != "forward_backward") continue;
    if (flow.slice_out < 0 || flow.slice_in < 0) continue;
    const store::SliceRow& in = data.Slice(flow.slice_in);
    side.backward.emplace_back(data.Slice(flow.slice_out).ts, in.ts);
    side.backward_thread = data.TrackOf(in).thread_id;
  }
}

}  // namespace sonde::compare
