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

// What work of the device is tied to operators by: the call that launched it.
class Joining {
 public:
  Joining(TraceRows& rows, const raw::FrameworkLayer& framework)
      : rows_(rows), framework_(framework), steps_(IndexOfSteps(rows.steps)) {
    for (const store::ApiCallRow& call : rows.api_calls) {
      // A node's launch says more than the call around it.
      const bool is_node = call.level >= 0 && rows.names.Text(call.level) == "node";
      if (call.connection_id < 0) continue;
      const auto [known, is_new] = call_of_.try_emplace(call.connection_id, call.slice_id);
      if (!is_new && is_node) known->second = call.slice_id;
    }
  }

  template <class Row>
  void Join(Row& row) const {
    const auto call = call_of_.find(row.connection_id);
    if (call == call_of_.end()) return;
    const store::SliceRow& slice = rows_.slices[static_cast<size_t>(call->second)];
    const int32_t thread = rows_.tracks[static_cast<size_t>(slice.track_id)].thread_id;
    if (thread < 0) return;
    row.launch_slice_id =
        framework_.OperatorAt(rows_.threads[static_cast<size_t>(thread)].tid, slice.ts);
    if (row.step_id < 0) row.step_id = steps_.At(slice.ts);
  }

 private:
  TraceRows& rows_;
  const raw::FrameworkLayer& framework_;
  StepIndex steps_;
  std::unordered_map<int64_t, int32_t> call_of_;  // slice, by connection
};

}  // namespace

std::vector<SpanFile> FrameworkRecordsBeside(const AscendSpan& span) {
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

void AddFrameworkRecords(const AscendSpan& span, const std::vector<SpanFile>& files,
                         TraceRows& rows) {
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
  const Joining joining(rows, framework);
  for (store::DeviceTaskRow& task : rows.tasks) joining.Join(task);
  for (store::CommunicationOpRow& op : rows.communications) joining.Join(op);
  ascend::LeaveLaunches(rows);
}

}  // namespace sonde::importers
