// analysis.db: step breakdown and, from level 1 on, times, bandwidth and links of communication.
// The same rows as step_trace_time.csv, communication.json and communication_matrix.json.
#pragma once

#include <string>

#include "base/status.h"
#include "recipes/trace/device_view.h"

namespace sonde::exporters {

// No file where there are no rows (level none, no device).
Status WriteAnalysisDb(const recipes::DeviceView& view, const std::string& path);

}  // namespace sonde::exporters
