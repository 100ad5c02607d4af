#include "exporters/ascend_db/ascend_db.h"

#include <cerrno>
#include <cstdio>
#include <functional>
#include <string>

#include "base/files.h"
#include "exporters/ascend_db/analysis_db.h"
#include "exporters/ascend_db/db_tables.h"
#include "exporters/ascend_db/enum_tables.h"
#include "exporters/source_files/source_files.h"

namespace sonde::exporters {
namespace {

using recipes::CaptureSettings;

constexpr std::string_view kAnalysis = "analysis.db";

// Readers look for the name of the framework that the span is of.
std::string ProfilerDbName(const ExportContext& context) {
  const bool is_mindspore = context.span_name.ends_with("_ascend_ms");
  std::string name = is_mindspore ? "ascend_mindspore_profiler" : "ascend_pytorch_profiler";
  const CaptureSettings& settings = context.view.settings;
  if (settings.rank) name += "_" + std::to_string(*settings.rank);
  return name + ".db";
}

Status WriteProfilerDb(const ExportContext& whole, const std::string& path, bool with_framework) {
  const recipes::DeviceView& view = whole.view;
  SONDE_ASSIGN_OR_RETURN(report::SqliteFile file, report::SqliteFile::Create(path));
  StringIds ids;
  DbContext context{
      .view = view, .file = file, .ids = ids, .left_out = whole.left_out, .store = whole.store};
  SONDE_ASSIGN_OR_RETURN(context.arguments,
                         SliceArguments::Load(whole.store, {"communication_plane"}));
  context.planes = PlaneSlices(view, context.arguments);
  SONDE_RETURN_IF_ERROR(WriteSessionTables(context));
  SONDE_RETURN_IF_ERROR(WriteEnumTables(file));
  if (view.settings.level != recipes::ProfilerLevel::kNone) {
    SONDE_RETURN_IF_ERROR(WriteDeviceTables(context));
    SONDE_RETURN_IF_ERROR(WriteCommunicationTables(context));
  }
  if (with_framework) {
    SONDE_RETURN_IF_ERROR(WriteFrameworkTables(context));
    if (view.settings.profile_memory) SONDE_RETURN_IF_ERROR(WriteMemoryTables(context));
  }
  SONDE_RETURN_IF_ERROR(WriteMarkTables(context));
  SONDE_RETURN_IF_ERROR(WriteSampledTables(context));
  SONDE_RETURN_IF_ERROR(ids.Write(file));
  return file.Close();
}

// Lets `write` make a file next to the path, which replaces it when complete.
Status Replace(const std::string& path,
               const std::function<Status(const std::string& made)>& write) {
  const std::string made = path + ".new";
  std::remove(made.c_str());
  const Status written = write(made);
  if (written.ok() && std::rename(made.c_str(), path.c_str()) == 0) return {};
  const Status status = written.ok() ? base::ErrnoStatus(errno, "replace", path) : written;
  std::remove(made.c_str());
  return status;
}

}  // namespace

Status WriteDbWaits(const ExportContext& context) {
  const std::string path = base::JoinPath(context.output_folder, kAnalysis);
  if (!base::PathExists(path)) return {};
  return Replace(path,
                 [&](const std::string& made) { return WriteAnalysisDb(context.view, made); });
}

Status WriteDeviceToolDb(const ExportContext& context, const std::string& path) {
  return Replace(path, [&](const std::string& made) {
    return WriteProfilerDb(context, made, /*with_framework=*/false);
  });
}

Status ExportAscendDb(const ExportContext& context) {
  SONDE_ASSIGN_OR_RETURN(const bool is_done, WriteSourceDatabases(context));
  if (is_done) return {};
  SONDE_RETURN_IF_ERROR(
      WriteProfilerDb(context, base::JoinPath(context.output_folder, ProfilerDbName(context)),
                      /*with_framework=*/true));
  SONDE_ASSIGN_OR_RETURN(const bool has_analysis, WriteSourceAnalysis(context));
  if (has_analysis) return {};
  return WriteAnalysisDb(context.view, base::JoinPath(context.output_folder, kAnalysis));
}

}  // namespace sonde::exporters
