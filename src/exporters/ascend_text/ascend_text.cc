#include "exporters/ascend_text/ascend_text.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "base/files.h"
#include "base/host/parallel.h"
#include "exporters/ascend_text/communication_json.h"
#include "exporters/ascend_text/csv_files.h"
#include "exporters/ascend_text/trace_view.h"
#include "exporters/format/file_set.h"
#include "exporters/source_files/source_files.h"

namespace sonde::exporters {
namespace {

using recipes::CaptureSettings;
using recipes::ProfilerLevel;

void AddTraceView(const ExportContext& context, const ImportedSlices& imported, FileSet& files) {
  const auto pieces = std::make_shared<const TracePieces>(TraceViewPieces(context, imported));
  files.Add("trace_view.json", pieces->size(),
            [pieces](size_t piece, LineBuffer& out) { pieces->Run(piece, out); });
}

// Marks lie on the row of their thread.
void CountMarksWithoutRow(const ExportContext& context) {
  if (context.left_out == nullptr) return;
  const auto& marks = context.data().marks;
  context.left_out->Add(
      "text", "marks without a row",
      std::ranges::count_if(marks, [](const store::MarkRow& mark) { return mark.track_id < 0; }));
}

void AddText(FileSet& files, std::string name, std::string text) {
  if (text.empty()) return;
  const auto whole = std::make_shared<const std::string>(std::move(text));
  files.Add(std::move(name), 1, [whole](size_t, LineBuffer& out) { out.Append(*whole); });
}

void AddCommunicationFiles(const ExportContext& context, FileSet& files) {
  const std::vector<recipes::CommunicationStep> steps = recipes::Communication(context.view);
  AddText(files, "communication.json", CommunicationJson(context.view, steps));
  AddText(files, "communication_matrix.json", CommunicationMatrixJson(context.view, steps));
}

constexpr std::string_view kTimeline = "trace_view.json";

// Whether the tables hold more than a set of tables without a timeline would give.
bool HasTimeline(const ExportContext& context) { return !context.data().flows.empty(); }

// The tables that the capture's settings ask for.
FileSet TableFiles(const ExportContext& context) {
  const CaptureSettings& settings = context.view.settings;
  FileSet files(context.output_folder);
  if (settings.cpu_activity) AddOperatorDetails(context, files);
  if (settings.level != ProfilerLevel::kNone) {
    AddKernelDetails(context, files);
    AddStepTraceTime(context, files);
    AddDeviceSheets(context, files, /*is_of_framework=*/true, ".csv");
    AddSampledSheets(context, files, /*is_of_framework=*/true, ".csv");
  }
  if (settings.profile_memory) {
    AddMemoryRecord(context, files);
    AddOperatorMemory(context, files);
  }
  if (settings.level == ProfilerLevel::kLevel1 || settings.level == ProfilerLevel::kLevel2) {
    AddOpStatistic(context, files);
    AddApiStatistic(context, files);
    AddCommunicationFiles(context, files);
  }
  return files;
}

}  // namespace

Status WriteTextWaits(const ExportContext& context) {
  FileSet files(context.output_folder);
  if (!base::PathExists(base::JoinPath(context.output_folder, "communication.json"))) return {};
  AddCommunicationFiles(context, files);
  return files.Write(context.threads);
}

Status ExportAscendText(const ExportContext& context) {
  FileSet files(context.output_folder);
  SONDE_ASSIGN_OR_RETURN(const bool is_kept, WriteSourceTexts(context));
  if (is_kept && !HasTimeline(context)) return {};
  SONDE_ASSIGN_OR_RETURN(const ImportedSlices imported, ImportedSlices::Load(context));
  if (is_kept) {
    if (!base::PathExists(base::JoinPath(context.output_folder, kTimeline))) {
      AddTraceView(context, imported, files);
    }
    return files.Write(context.threads);
  }
  CountMarksWithoutRow(context);
  FileSet tables(context.output_folder);
  base::TaskGroup preparing(context.threads);
  preparing.Run([&] { tables = TableFiles(context); });
  AddTraceView(context, imported, files);
  preparing.Wait();
  files.Append(std::move(tables));
  return files.Write(context.threads);
}

}  // namespace sonde::exporters
