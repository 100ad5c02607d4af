#include "exporters/mindstudio/mindstudio.h"

#include <algorithm>
#include <memory>
#include <string>

#include "base/files.h"
#include "base/strings.h"
#include "exporters/ascend_db/ascend_db.h"
#include "exporters/ascend_text/csv_files.h"
#include "exporters/ascend_text/trace_view.h"
#include "exporters/format/file_set.h"
#include "exporters/mindstudio/task_time.h"
#include "report/time_stamp.h"

namespace sonde::exporters {
namespace {

using recipes::ProfilerLevel;

std::string TimeStamp(int64_t ns) {
  constexpr int64_t kNsPerSecond = 1'000'000'000;
  return report::TimeStamp(report::Zone::kUtc, std::max<int64_t>(ns, 0) / kNsPerSecond);
}

void CountLeftOut(const ExportContext& context) {
  if (context.left_out == nullptr) return;
  const auto add = [&](std::string_view what, size_t count) {
    context.left_out->Add("mindstudio", what, static_cast<int64_t>(count));
  };
  const recipes::TraceData& data = context.data();
  add("operators of the framework", data.ops.size());
  add("memory events", data.memory_events.size());
  add("blocks of memory", data.memory_blocks.size());
}

void AddFiles(const ExportContext& context, const ImportedSlices& imported, FileSet& files) {
  const std::string end = base::Concat("_", TimeStamp(context.data().first_ns));
  const auto pieces = std::make_shared<const TracePieces>(DeviceTracePieces(context, imported));
  files.Add(base::Concat("msprof", end, ".json"), pieces->size(),
            [pieces](size_t piece, LineBuffer& out) { pieces->Run(piece, out); });
  const std::string csv = base::Concat(end, ".csv");
  AddOpSummary(context, base::Concat("op_summary", csv), files);
  AddTaskTime(context, base::Concat("task_time", csv), files);
  AddDeviceSheets(context, files, /*is_of_framework=*/false, csv);
  AddSampledSheets(context, files, /*is_of_framework=*/false, csv);
  if (context.view.settings.level == ProfilerLevel::kLevel0) return;
  AddOpStatistic(context, files, base::Concat("op_statistic", csv));
  AddApiStatistic(context, files, base::Concat("api_statistic", csv));
}

}  // namespace

Status ExportMindstudio(const ExportContext& context) {
  const std::string path = base::JoinPath(context.span_folder, "mindstudio_profiler_output");
  SONDE_ASSIGN_OR_RETURN(const ImportedSlices imported, ImportedSlices::Load(context));
  SONDE_ASSIGN_OR_RETURN(base::AtomicDirectory folder, base::AtomicDirectory::Create(path));
  CountLeftOut(context);
  FileSet files(folder.temporary_path());
  AddFiles(context, imported, files);
  SONDE_RETURN_IF_ERROR(files.Write(context.threads));
  SONDE_RETURN_IF_ERROR(folder.Commit());
  const std::string name = base::Concat("msprof_", TimeStamp(context.data().first_ns), ".db");
  return WriteDeviceToolDb(context, base::JoinPath(context.span_folder, name));
}

}  // namespace sonde::exporters
