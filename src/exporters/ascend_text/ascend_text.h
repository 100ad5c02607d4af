// The text deliverables: trace_view.json, kernel_details.csv, operator_details.csv and the other
// CSV and JSON files of ASCEND_PROFILER_OUTPUT, in the layout of the current generation.
//
// Each file is there only when its switch or level was on and it has content;
// docs/reference/deliverables.md lists them, and how the CPU as a device is shown.
#pragma once

#include "exporters/exporter.h"

namespace sonde::exporters {

Status ExportAscendText(const ExportContext& context);

// communication.json and communication_matrix.json again, where they exist (Exporter::write_waits).
Status WriteTextWaits(const ExportContext& context);

}  // namespace sonde::exporters
