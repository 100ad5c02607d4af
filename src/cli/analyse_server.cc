#include "cli/analyse_server.h"

#include <utility>
#include <vector>

#include "base/files.h"
#include "base/strings.h"
#include "exporters/serving/serving.h"
#include "importers/server/server.h"
#include "precision/output/xlsx_result.h"
#include "recipes/serving_summary/serving_summary.h"

namespace sonde::cli {
namespace {

Status WriteFiles(const recipes::ServingSummary& summary, const store::RowTables& tables,
                  const std::string& folder) {
  SONDE_RETURN_IF_ERROR(base::MakeDirectories(folder));
  const std::string base_path = base::JoinPath(folder, "serving_summary");
  SONDE_RETURN_IF_ERROR(
      base::WriteFileAtomically(base_path + ".txt", exporters::RenderServing(summary, true)));
  SONDE_RETURN_IF_ERROR(
      base::WriteFileAtomically(base_path + ".csv", exporters::ServingCsv(summary)));
  std::vector<precision::XlsxSheet> sheets;
  for (exporters::Sheet& sheet : exporters::ServingSheets(summary, tables)) {
    sheets.push_back({std::move(sheet.name), std::move(sheet.rows)});
  }
  return precision::WriteXlsxSheets(sheets, base_path + ".xlsx");
}

}  // namespace

bool IsServer(const importers::TraceSource& source) {
  return source.importer->import == importers::ImportServerSession;
}

Result<std::string> AnalyseServer(const importers::TraceSource& source,
                                  const AnalyseOptions& options) {
  SONDE_ASSIGN_OR_RETURN(const std::string path, importers::WritableStorePath(source));
  SONDE_ASSIGN_OR_RETURN(const importers::ImportedTrace imported,
                         importers::ImportUnpublished(source, path, {.threads = options.threads}));
  const std::string session = base::AbsolutePath(source.path);
  const std::string folder = options.output_folder.empty()
                                 ? session
                                 : base::JoinPath(options.output_folder, base::BaseName(session));
  const store::RowTables& tables = *imported.store->rows();
  const recipes::ServingSummary summary = recipes::SummariseServing(tables);
  SONDE_RETURN_IF_ERROR(WriteFiles(summary, tables, folder));
  SONDE_RETURN_IF_ERROR(imported.store->Publish());
  std::string out = exporters::RenderServing(summary, /*is_long=*/false);
  return out += base::Concat("\nFiles\n  ", base::JoinPath(folder, "serving_summary"),
                             ".{txt,csv,xlsx}\n  ", path, "\n");
}

}  // namespace sonde::cli
