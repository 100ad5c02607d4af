#include "exporters/ascend_db/ascend_db.h"

#include <string>

#include "base/files.h"
#include "exporters/ascend_db/analysis_db.h"
#include "exporters/ascend_db/db_tables.h"
#include "exporters/ascend_db/enum_tables.h"
#include "exporters/source_files/source_files.h"

namespace sonde::exporters {
namespace {

using recipes::CaptureSettings;

std::string ProfilerDbName(const CaptureSettings& settings) {
  return settings.rank ? "ascend_pytorch_profiler_" + std::to_string(*settings.rank) + ".db"
                       : std::string("ascend_pytorch_profiler.db");
}

Status WriteProfilerDb(const recipes::DeviceView& view, const std::string& path) {
  SONDE_ASSIGN_OR_RETURN(SqliteFile file, SqliteFile::Create(path));
  StringIds ids;
  DbContext context{.view = view, .file = file, .ids = ids};
  SONDE_RETURN_IF_ERROR(WriteSessionTables(context));
  SONDE_RETURN_IF_ERROR(WriteEnumTables(file));
  if (view.settings.level != recipes::ProfilerLevel::kNone) {
    SONDE_RETURN_IF_ERROR(WriteDeviceTables(context));
    SONDE_RETURN_IF_ERROR(WriteCommunicationTables(context));
  }
  SONDE_RETURN_IF_ERROR(WriteFrameworkTables(context));
  if (view.settings.profile_memory) SONDE_RETURN_IF_ERROR(WriteMemoryTables(context));
  SONDE_RETURN_IF_ERROR(ids.Write(file));
  return file.Close();
}

}  // namespace

Status ExportAscendDb(const ExportContext& context) {
  SONDE_ASSIGN_OR_RETURN(const bool is_done, WriteSourceDatabases(context));
  if (is_done) return {};
  SONDE_RETURN_IF_ERROR(WriteProfilerDb(
      context.view, base::JoinPath(context.output_folder, ProfilerDbName(context.view.settings))));
  SONDE_ASSIGN_OR_RETURN(const bool has_analysis, WriteSourceAnalysis(context));
  if (has_analysis) return {};
  return WriteAnalysisDb(context.view, base::JoinPath(context.output_folder, "analysis.db"));
}

}  // namespace sonde::exporters
