// The tables of a rank as Parquet, one file a table, for Spark, Trino, pandas and others:
// <span folder>/PARQUET/<table>.parquet with the columns of docs/reference/store.md.
//
// The database writes them itself (zstd). The folder appears complete or not at all; tables without
// rows have a file too, so that readers find their columns. Errors: Status.
#pragma once

#include "base/status.h"
#include "exporters/exporter.h"

namespace sonde::exporters {

Status ExportParquet(const ExportContext& context);

}  // namespace sonde::exporters
