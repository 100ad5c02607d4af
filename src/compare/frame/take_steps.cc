#include <algorithm>
#include <map>

#include "base/strings.h"
#include "compare/frame/side.h"
#include "recipes/finding/rules.h"
#include "recipes/trace/device_view.h"
#include "recipes/trace/processor_use.h"

namespace sonde::compare {
namespace {

using recipes::TraceData;

// When the work that is assigned to a step has ended, by step.
std::map<int64_t, int64_t> EndsOfWork(const TraceData& data) {
  std::map<int64_t, int64_t> ends;
  const auto cover = [&](int64_t step_id, int64_t end_ns) {
    if (step_id < 0) return;
    int64_t& last_ns = ends.try_emplace(step_id, end_ns).first->second;
    last_ns = std::max(last_ns, end_ns);
  };
  for (const store::DeviceTaskRow& task : data.tasks) {
    cover(task.step_id, task.ts + std::max<int64_t>(task.dur, 0));
  }
  for (const store::CommunicationOpRow& op : data.communications) {
    cover(op.step_id, op.dur < 0 ? data.last_ns : op.ts + op.dur);
  }
  return ends;
}

bool OverlapInTime(const std::vector<Window>& steps) {
  for (size_t i = 1; i < steps.size(); ++i) {
    if (steps[i].begin_ns < steps[i - 1].end_ns) return true;
  }
  return false;
}

void FollowDevice(const TraceData& data, std::vector<Window>& steps) {
  if (steps.empty() || OverlapInTime(steps)) return;
  const std::map<int64_t, int64_t> work = EndsOfWork(data);
  int64_t last_end_ns = steps.front().begin_ns;
  for (Window& step : steps) {
    const auto own = work.find(step.step_id);
    const int64_t done_ns = own == work.end() ? step.end_ns : own->second;
    step.queued_ns = std::max<int64_t>(last_end_ns - step.begin_ns, 0);
    step.behind_ns = std::max({done_ns, step.end_ns, step.FromNs()}) - step.end_ns;
    last_end_ns = step.OverNs();
  }
}

std::string NameOf(const recipes::DeviceView& view, const recipes::Device& device) {
  const std::string number = std::to_string(device.device_id);
  const auto named_alike =
      std::ranges::count(view.devices, device.device_id, &recipes::Device::device_id);
  return named_alike == 1 ? number
                          : base::Concat(number, " of process ", std::to_string(device.pid));
}

}  // namespace

void TakeSteps(const TraceData& data, Side& side) {
  for (const store::StepRow& step : data.steps) {
    recipes::StepUse use;
    use.Add(step);
    const int64_t end_ns = step.dur < 0 ? data.last_ns : step.ts + step.dur;
    side.steps.push_back({.step_id = step.step_id,
                          .begin_ns = step.ts,
                          .end_ns = end_ns,
                          .is_unfinished = step.dur < 0,
                          .processor_ns = use.thread_ns(),
                          .unserved_ns = use.UnservedNs(step.dur)});
  }
  if (side.kind != SideKind::kCpu) FollowDevice(data, side.steps);
  const recipes::DeviceView view = recipes::DeviceView::Make(data);
  for (const recipes::Device& device : view.devices) {
    const std::string name = NameOf(view, device);
    for (const recipes::StepTraceRow& row : device.steps) {
      const auto step = std::ranges::find(side.steps, row.step_id, [](const Window& one) {
        return std::optional<int64_t>(one.step_id);
      });
      const DeviceTimes times = {row.computing_ns, row.not_overlapped_ns, row.free_ns};
      if (step != side.steps.end()) {
        step->devices[name] = times;
      } else if (!row.step_id) {
        side.devices[name] = times;
      }
    }
  }
  for (const recipes::Finding& finding : recipes::CoverageFindings(view)) {
    const bool is_of_device = finding.subject != "requests" && finding.subject != "backward";
    if (is_of_device) side.lacks.push_back(TextOf(finding, recipes::Language::kEnglish));
  }
}

}  // namespace sonde::compare
