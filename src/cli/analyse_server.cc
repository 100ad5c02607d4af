#include "cli/analyse_server.h"

#include <utility>
#include <vector>

#include "base/files.h"
#include "base/strings.h"
#include "cli/command.h"
#include "exporters/serving/serving.h"
#include "importers/import_trace.h"
#include "recipes/serving_summary/serving_summary.h"
#include "report/text_sheets.h"

namespace sonde::cli {
namespace {

constexpr std::string_view kLastFile = "serving_summary.xlsx";

Status WriteFiles(const recipes::ServingSummary& summary, const store::RowTables& tables,
                  const std::string& folder) {
  SONDE_RETURN_IF_ERROR(base::MakeDirectories(folder));
  const std::string base_path = base::JoinPath(folder, "serving_summary");
  SONDE_RETURN_IF_ERROR(
      base::WriteFileAtomically(base_path + ".txt", exporters::RenderServing(summary, true)));
  SONDE_RETURN_IF_ERROR(
      base::WriteFileAtomically(base_path + ".csv", exporters::ServingCsv(summary)));
  std::vector<report::XlsxSheet> sheets;
  for (exporters::Sheet& sheet : exporters::ServingSheets(summary, tables)) {
    sheets.push_back({std::move(sheet.name), std::move(sheet.rows)});
  }
  return report::WriteXlsxSheets(sheets, base_path + ".xlsx");
}

}  // namespace

bool IsServer(const importers::TraceSource& source) { return source.importer->is_of_server; }

bool IsServed(const std::string& session) {
  return base::IsRegularFile(base::JoinPath(session, kLastFile));
}

Result<std::string> AnalyseServer(const importers::TraceSource& source,
                                  const AnalyseOptions& options) {
  const std::string session = base::AbsolutePath(source.path);
  const bool is_beside = options.output_folder.empty();
  const std::string folder =
      is_beside ? session : base::JoinPath(options.output_folder, base::BaseName(session));
  std::string out;
  Status written;
  SONDE_RETURN_IF_ERROR(importers::WithStorePath(
      source, is_beside ? "" : folder, PrintNotice, [&](const std::string& path) -> Status {
        SONDE_ASSIGN_OR_RETURN(
            const importers::ImportedTrace imported,
            importers::ImportUnpublished(source, path, {.threads = options.threads}));
        const store::RowTables& tables = *imported.store->rows();
        const recipes::ServingSummary summary =
            recipes::SummariseServing(tables, options.objectives);
        written = WriteFiles(summary, tables, folder);
        if (!written.ok()) return {};
        out = base::Concat(exporters::RenderServing(summary, /*is_long=*/false), "\nFiles\n  ",
                           base::JoinPath(folder, "serving_summary"), ".{txt,csv,xlsx}\n  ", path,
                           "\n");
        return imported.store->Publish();
      }));
  SONDE_RETURN_IF_ERROR(written);
  return out;
}

}  // namespace sonde::cli
