#include "importers/ascend_raw/beside_export.h"

#include <algorithm>
#include <unordered_map>

#include "base/files.h"
#include "importers/ascend/device_model.h"
#include "importers/ascend_raw/clock.h"
#include "importers/ascend_raw/files.h"
#include "importers/ascend_raw/framework.h"
#include "importers/ascend_raw/issues.h"
#include "importers/common/part_file.h"
#include "importers/common/step_index.h"

namespace sonde::importers {
namespace {

bool IsOfDeviceTool(const SpanFile& file) { return file.relative.starts_with("PROF_"); }

// Launch points, which tie work of the device to operators.
class Joining {
 public:
  Joining(TraceRows& rows, const raw::FrameworkLayer& framework,
          const std::vector<LaunchPoint>* launches)
      : framework_(framework), steps_(IndexOfSteps(rows.steps)), is_by_slice_(launches != nullptr) {
    if (launches == nullptr) {
      TakeCalls(rows);
      return;
    }
    for (const LaunchPoint& launch : *launches) {
      points_.try_emplace(launch.slice_id, Point{launch.tid, launch.ts});
    }
  }

  template <class Row>
  void Join(Row& row) const {
    const auto point = points_.find(is_by_slice_ ? row.slice_id : row.connection_id);
    if (point == points_.end()) return;
    row.launch_slice_id = framework_.OperatorAt(point->second.tid, point->second.ts);
    if (row.step_id < 0) row.step_id = steps_.At(point->second.ts);
  }

 private:
  struct Point {
    int64_t tid;
    int64_t ts;
  };

  void TakeCalls(const TraceRows& rows) {
    for (const store::ApiCallRow& call : rows.api_calls) {
      if (call.connection_id < 0) continue;
      const store::SliceRow& slice = rows.slices[static_cast<size_t>(call.slice_id)];
      const int32_t thread = rows.tracks[static_cast<size_t>(slice.track_id)].thread_id;
      if (thread < 0) continue;
      const Point point{rows.threads[static_cast<size_t>(thread)].tid, slice.ts};
      // A node's launch is more precise than the call around it.
      const bool is_node = call.level >= 0 && rows.names.Text(call.level) == "node";
      const auto [known, is_new] = points_.try_emplace(call.connection_id, point);
      if (!is_new && is_node) known->second = point;
    }
  }

  const raw::FrameworkLayer& framework_;
  StepIndex steps_;
  bool is_by_slice_;
  std::unordered_map<int64_t, Point> points_;  // by slice or connection
};

}  // namespace

std::vector<SpanFile> FrameworkRecordsNextTo(const AscendSpan& span) {
  for (const auto* list :
       {&span.databases, &span.analysis, &span.tables, &span.timelines, &span.texts}) {
    if (!std::ranges::all_of(*list, IsOfDeviceTool)) return {};
  }
  std::vector<SpanFile> files = raw::FindFiles(span.folder).framework;
  const bool has_content = std::ranges::any_of(
      files, [](const SpanFile& file) { return base::FileSize(file.path).value_or(0) > 0; });
  if (!has_content) files.clear();
  return files;
}

int32_t AddFrameworkRecords(const AscendSpan& span, const std::vector<SpanFile>& files,
                            TraceRows& rows, const std::vector<LaunchPoint>* launches) {
  const raw::Clock clock = raw::FrameworkClockOf(span.folder);
  if (!clock.is_known) rows.issues.Add(raw::kNoClock, "FRAMEWORK");
  raw::FrameworkLayer framework(rows);
  AscendSpan others;
  for (const SpanFile& file : files) {
    const auto content = OpenPart(file.path, file.relative, rows.issues, /*is_binary=*/true);
    if (content && !framework.Read({file.relative, content->text(), rows.issues}, clock)) {
      others.unread.push_back(file.relative);
    }
  }
  CountUnread(others, rows.issues);
  framework.Finish();
  const Joining joining(rows, framework, launches);
  for (store::DeviceTaskRow& task : rows.tasks) joining.Join(task);
  for (store::CommunicationOpRow& op : rows.communications) joining.Join(op);
  ascend::LeaveLaunches(rows);
  return framework.is_empty() ? store::kNone : rows.Process(framework.pid());
}

}  // namespace sonde::importers
