// The device tool's own files in mindstudio_profiler_output: op_summary, op_statistic,
// task_time, api_statistic, the timeline msprof and its tables next to those, and next to that
// folder the database msprof; each with the time behind its name.
//
// The time is when the trace begins, in UTC, so that the same trace gives the same names. Of the
// framework nothing is written: its rows are counted as left out.
#pragma once

#include "exporters/exporter.h"

namespace sonde::exporters {

Status ExportMindstudio(const ExportContext& context);

}  // namespace sonde::exporters
