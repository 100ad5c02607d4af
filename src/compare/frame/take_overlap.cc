#include <algorithm>

#include "compare/frame/communicates.h"
#include "compare/frame/side.h"

namespace sonde::compare {
namespace {

using capture::TrackKind;
using recipes::Interval;
using recipes::TraceData;

// The parts of the intervals in the window.
void Clip(const Window& window, std::vector<Interval>& intervals) {
  for (Interval& one : intervals) {
    one.start_ns = std::max(one.start_ns, window.begin_ns);
    one.end_ns = std::min(one.end_ns, window.end_ns);
  }
  std::erase_if(intervals, [](const Interval& one) { return one.end_ns <= one.start_ns; });
}

void TakeLane(const TraceData& data, Side& side) {
  side.first_ns = std::numeric_limits<int64_t>::max();
  side.last_ns = std::numeric_limits<int64_t>::min();
  for (const int32_t id : data.SlicesOfKinds({TrackKind::kOverlap})) {
    const store::SliceRow& slice = data.Slice(id);
    std::vector<Interval> piece = {{slice.ts, data.EndNs(slice)}};
    Clip(side.window, piece);
    if (piece.empty()) continue;
    side.has_overlap_lane = true;
    side.first_ns = std::min(side.first_ns, piece[0].start_ns);
    side.last_ns = std::max(side.last_ns, piece[0].end_ns);
    const std::string_view name = data.Name(slice.name);
    if (name == "Computing") side.overlap.computing.push_back(piece[0]);
    if (name == "Communication") side.overlap.communication.push_back(piece[0]);
    if (name == "Communication(Not Overlapped)") side.overlap.not_overlapped.push_back(piece[0]);
  }
  const auto by_start = [](const Interval& a, const Interval& b) {
    return a.start_ns < b.start_ns;
  };
  for (auto* list :
       {&side.overlap.computing, &side.overlap.communication, &side.overlap.not_overlapped}) {
    std::sort(list->begin(), list->end(), by_start);
  }
}

// Tasks that the reference does not count for the span of an Ascend device.
bool IsLeftOut(std::string_view task_type) {
  constexpr std::string_view kTypes[] = {"KERNEL_AICORE",    "KERNEL_AIVEC",   "FFTS_PLUS",
                                         "KERNEL_MIX_AIC",   "KERNEL_MIX_AIV", "PROFILING_ENABLE",
                                         "PROFILING_DISABLE"};
  return std::find(std::begin(kTypes), std::end(kTypes), task_type) != std::end(kTypes);
}

void Compute(Side& side) {
  std::vector<Interval> computing;
  std::vector<Interval> communication;
  for (const CommunicationOp& op : side.communications) {
    communication.push_back({op.begin_ns, op.end_ns});
  }
  for (const Kernel& kernel : side.kernels) {
    if (kernel.core == kNone || kernel.is_communication) continue;
    (Communicates(side, kernel) ? communication : computing)
        .push_back({kernel.begin_ns, kernel.EndNs()});
  }
  side.overlap = recipes::AnalyseOverlap(std::move(computing), std::move(communication));
}

void FindSpan(Side& side) {
  side.first_ns = std::numeric_limits<int64_t>::max();
  side.last_ns = std::numeric_limits<int64_t>::min();
  const auto widen = [&side](int64_t begin, int64_t end) {
    side.first_ns = std::min(side.first_ns, begin);
    side.last_ns = std::max(side.last_ns, end);
  };
  for (const Interval& one : side.overlap.computing) widen(one.start_ns, one.end_ns);
  for (const Interval& one : side.overlap.communication) widen(one.start_ns, one.end_ns);
  for (const Kernel& kernel : side.kernels) {
    if (side.kind == SideKind::kNpuDb && IsLeftOut(side.Name(kernel.task_type))) continue;
    widen(kernel.begin_ns, kernel.EndNs());
  }
}

}  // namespace

void TakeOverlap(const TraceData& data, Side& side) {
  if (side.kind == SideKind::kNpuText) TakeLane(data, side);
  if (side.has_overlap_lane) return;
  Compute(side);
  FindSpan(side);
}

}  // namespace sonde::compare
