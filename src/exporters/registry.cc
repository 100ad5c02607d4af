#include "exporters/registry.h"

#include <array>

#include "base/host/parallel.h"
#include "exporters/ascend_db/ascend_db.h"
#include "exporters/ascend_text/ascend_text.h"
#include "exporters/kineto/kineto.h"
#include "exporters/parquet/parquet.h"

namespace sonde::exporters {
namespace {

// One line each.
constexpr std::array kExporters = {
    Exporter{"text", "CSV and JSON files of ASCEND_PROFILER_OUTPUT", true, &ExportAscendText},
    Exporter{"db", "SQLite databases of ASCEND_PROFILER_OUTPUT", true, &ExportAscendDb,
             /*queries_store=*/false, /*is_serial=*/true},
    Exporter{"kineto", "Kineto trace for TensorBoard and HolisticTraceAnalysis", false,
             &ExportKineto},
    Exporter{"parquet", "a Parquet file for each table of the store", false, &ExportParquet,
             /*queries_store=*/true},
};

}  // namespace

std::span<const Exporter> Exporters() { return kExporters; }

const Exporter* FindExporter(std::string_view name) {
  for (const Exporter& exporter : kExporters) {
    if (exporter.name == name) return &exporter;
  }
  return nullptr;
}

bool LeavesIdle(const Exporter& exporter, int threads) {
  const int available = threads > 0 ? threads : base::AvailableThreads();
  // Pieces of a file are formatted in parallel, but one at a time is written.
  return available > (exporter.is_serial ? 1 : 2);
}

}  // namespace sonde::exporters
