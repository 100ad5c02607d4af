#include "compare/frame/side.h"

#include <algorithm>

#include "base/strings.h"
#include "recipes/trace/issue_texts.h"

namespace sonde::compare {
namespace {

using base::Concat;
using capture::TrackKind;
using recipes::TraceData;

SideKind KindOf(const TraceData& data) {
  bool has_npu = false;
  for (const store::TaskKindRow& kind : data.kinds) {
    const std::string_view core = data.Name(kind.core);
    if (core == "GPU") return SideKind::kGpu;
    has_npu = has_npu || (!core.empty() && core != "CPU");
  }
  for (const store::TrackRow& track : data.tracks) {
    if (data.IsOfKind(track, TrackKind::kOverlap)) return SideKind::kNpuText;
    has_npu = has_npu || data.IsOfKind(track, TrackKind::kCommunicationPlane);
  }
  return has_npu ? SideKind::kNpuDb : SideKind::kCpu;
}

Status ChooseWindow(int64_t step_id, Side& side) {
  if (step_id == kNone) return {};
  std::vector<std::string> ids;
  for (const Window& step : side.steps) {
    if (step.step_id == step_id) {
      // Its work is what lies in it on the host, as the reference has it.
      side.window = step;
      side.window.queued_ns = side.window.behind_ns = 0;
      side.window.devices.clear();
      return {};
    }
    ids.push_back(std::to_string(step.step_id));
  }
  return base::NotFoundError(Concat("'", side.path, "' has no step ", std::to_string(step_id),
                                    " (it has: ", ids.empty() ? "none" : base::Join(ids, ", "),
                                    ")"));
}

}  // namespace

Result<Side> MakeSide(const TraceData& data, const std::string& path, int64_t step_id) {
  Side side;
  side.path = path;
  side.kind = KindOf(data);
  side.names.assign(data.names.begin(), data.names.end());
  TakeSteps(data, side);
  SONDE_RETURN_IF_ERROR(ChooseWindow(step_id, side));
  side.issues = recipes::IssueTexts(data.issues);
  TakeOps(data, side);
  TakeKernels(data, side);
  TakeCommunication(data, side);
  TakeMemory(data, side);
  TakePython(data, side);
  TakeCalls(data, side);
  TakeOverlap(data, side);
  TakeServing(data, side);
  return side;
}

std::vector<int32_t> TopOps(const Side& side) {
  std::vector<int32_t> top;
  for (const int32_t root : side.roots) {
    if (!side.OpAt(root).is_step) {
      top.push_back(root);
      continue;
    }
    for (int32_t child = side.OpAt(root).first_child; child != kNone;
         child = side.OpAt(child).next_sibling) {
      top.push_back(child);
    }
  }
  return top;
}

int32_t OpAtMoment(const Side& side, int64_t ts) {
  const auto after =
      std::upper_bound(side.ops.begin(), side.ops.end(), ts,
                       [](int64_t moment, const Op& op) { return moment < op.begin_ns; });
  auto at = static_cast<int32_t>(after - side.ops.begin()) - 1;
  while (at >= 0 && side.OpAt(at).end_ns < ts) at = side.OpAt(at).parent;
  return at;
}

}  // namespace sonde::compare
