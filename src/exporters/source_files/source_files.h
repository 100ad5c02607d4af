// Imported files written again as they were: databases table by table, CSV cell by cell with their
// line ends and quotes, small JSON files byte by byte (store/source_tables.h).
//
// The forms "db" and "text" ask here first: what was imported in the form that is asked for is not
// recomputed. Files go where they were below the folder of the trace. Errors: Status.
#pragma once

#include "base/status.h"
#include "exporters/exporter.h"

namespace sonde::exporters {

// Whether the store holds databases, and they were written.
Result<bool> WriteSourceDatabases(const ExportContext& context);

// The analysis.db that a text set may hold next to its files; false where none was imported.
Result<bool> WriteSourceAnalysis(const ExportContext& context);

// Whether the store holds CSV files, and they were written, with the JSON files and the analysis.db
// next to them.
Result<bool> WriteSourceTexts(const ExportContext& context);

// profiler_info*.json and profiler_metadata.json; false where none were imported.
Result<bool> WriteSourceMetadata(const ExportContext& context);

}  // namespace sonde::exporters
