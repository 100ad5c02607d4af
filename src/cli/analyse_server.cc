#include "cli/analyse_server.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/strings.h"
#include "cli/command.h"
#include "exporters/registry.h"
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

bool IsAskedFor(const exporters::Exporter& exporter, const AnalyseOptions& options) {
  const auto& asked = options.export_types;
  return exporter.is_of_server &&
         std::find(asked.begin(), asked.end(), exporter.name) != asked.end();
}

// The forms that are made of a session, of those that the user asked for.
Status Export(const recipes::ServingSummary& summary, const importers::ImportedTrace& imported,
              const std::string& session, const std::string& folder,
              const AnalyseOptions& options) {
  recipes::TraceData data;
  data.tables = imported.store->rows();
  recipes::DeviceView view;
  view.data = &data;
  exporters::LeftOut left_out;
  const exporters::ExportContext context{.view = view,
                                         .span_folder = folder,
                                         .output_folder = "",
                                         .span_name = std::string(base::BaseName(session)),
                                         .threads = options.threads,
                                         .left_out = &left_out,
                                         .serving = &summary};
  for (const exporters::Exporter& exporter : exporters::Exporters()) {
    if (!IsAskedFor(exporter, options)) continue;
    SONDE_RETURN_IF_ERROR(
        exporter.run(context).Annotate(base::Concat("while writing ", exporter.name)));
  }
  for (const std::string& sentence : left_out.Sentences()) {
    PrintNotice(base::Concat(session, ": ", sentence));
  }
  return {};
}

// What was written, a line each.
std::string FileLines(const std::string& folder, const std::string& store,
                      const AnalyseOptions& options) {
  std::string lines = base::Concat("\nFiles\n  ", base::JoinPath(folder, "serving_summary"),
                                   ".{txt,csv,xlsx}\n  ", store, "\n");
  for (const exporters::Exporter& exporter : exporters::Exporters()) {
    if (!IsAskedFor(exporter, options)) continue;
    lines += base::Concat("  ", base::JoinPath(folder, exporter.file), "\n");
  }
  return lines;
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
        if (written.ok()) written = Export(summary, imported, session, folder, options);
        if (!written.ok()) return {};
        out =
            exporters::RenderServing(summary, /*is_long=*/false) + FileLines(folder, path, options);
        return imported.store->Publish();
      }));
  SONDE_RETURN_IF_ERROR(written);
  return out;
}

}  // namespace sonde::cli
