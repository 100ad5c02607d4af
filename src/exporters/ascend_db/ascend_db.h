// Exporter "db": ascend_pytorch_profiler_<rank>.db, of a span *_ascend_ms
// ascend_mindspore_profiler_<rank>.db (SQLite, schema 1.2.0) and analysis.db.
//
// The databases that torch_npu writes with export_type Db, read by msprof-analyze and MindStudio
// Insight. Only tables that have content are made, and the ENUM_* tables. The rows are those of the
// text deliverables (one set of recipes gives both); docs/reference/deliverables.md has the
// mapping where the CPU is the device.
// Times: nanoseconds in the profiler database, microseconds in StepTraceTime, milliseconds in the
// communication tables, as the peer has them.
#pragma once

#include <string>

#include "exporters/exporter.h"

namespace sonde::exporters {

Status ExportAscendDb(const ExportContext& context);

// As the device's own tool writes it (msprof_<time>.db): without what the framework did. A file
// that lies there is replaced.
Status WriteDeviceToolDb(const ExportContext& context, const std::string& path);

// analysis.db again, where it exists (Exporter::write_waits).
Status WriteDbWaits(const ExportContext& context);

}  // namespace sonde::exporters
