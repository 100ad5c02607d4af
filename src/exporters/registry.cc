#include "exporters/registry.h"

#include <array>

#include "base/host/parallel.h"
#include "exporters/ascend_db/ascend_db.h"
#include "exporters/ascend_text/ascend_text.h"
#include "exporters/kineto/kineto.h"
#include "exporters/mindstudio/mindstudio.h"
#include "exporters/otlp/otlp.h"
#include "exporters/parquet/parquet.h"

namespace sonde::exporters {
namespace {

// One line each.
constexpr std::array kExporters = {
    Exporter{.name = "text",
             .summary = "CSV and JSON files of ASCEND_PROFILER_OUTPUT",
             .in_output_folder = true,
             .run = &ExportAscendText,
             .write_waits = &WriteTextWaits,
             .least_bytes = {80, 100, 200}},
    Exporter{.name = "db",
             .summary = "SQLite databases of ASCEND_PROFILER_OUTPUT",
             .in_output_folder = true,
             .run = &ExportAscendDb,
             .write_waits = &WriteDbWaits,
             .is_serial = true,
             .least_bytes = {0, 80, 60}},
    Exporter{.name = "kineto",
             .summary = "Kineto trace for TensorBoard and HolisticTraceAnalysis",
             .in_output_folder = false,
             .run = &ExportKineto,
             .least_bytes = {80, 100, 100}},
    Exporter{.name = "mindstudio",
             .summary = "files of mindstudio_profiler_output, msprof_*.db",
             .in_output_folder = false,
             .run = &ExportMindstudio,
             .least_bytes = {0, 0, 100}},
    Exporter{.name = "parquet",
             .summary = "a Parquet file for each table of the store",
             .in_output_folder = false,
             .run = &ExportParquet,
             .queries_store = true,
             .least_bytes = {4, 8, 8}},
    Exporter{.name = "otlp",
             .summary = "requests of a server as traces of OpenTelemetry",
             .in_output_folder = false,
             .run = &ExportOtlp,
             .is_of_server = true,
             .file = kOtlpFile},
};

}  // namespace

std::span<const Exporter> Exporters() { return kExporters; }

const Exporter* FindExporter(std::string_view name) {
  for (const Exporter& exporter : kExporters) {
    if (exporter.name == name) return &exporter;
  }
  return nullptr;
}

uint64_t LeastBytesOf(const Exporter& exporter, const recipes::TraceData& data) {
  const auto of = [](int64_t bytes, size_t rows) { return static_cast<uint64_t>(bytes) * rows; };
  return of(exporter.least_bytes.slice, data.slices.size()) +
         of(exporter.least_bytes.framework_op, data.ops.size()) +
         of(exporter.least_bytes.device_task, data.tasks.size());
}

bool LeavesIdle(const Exporter& exporter, int threads) {
  const int available = threads > 0 ? threads : base::AvailableThreads();
  // Pieces of a file are formatted in parallel, but one at a time is written.
  return available > (exporter.is_serial ? 1 : 2);
}

}  // namespace sonde::exporters
