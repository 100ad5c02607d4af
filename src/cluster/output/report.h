// The report of a mode: one HTML file with its sentences, a chart for each table and the tables.
//
// Nothing is loaded from anywhere: styles, charts (inline SVG) and the few lines that sort a table
// stand in it; light and dark follow the reader's system. Texts of traces are escaped. A table
// shows its first 500 rows, with a note where there are more. One thread. Errors: Status.
#pragma once

#include <string>

#include "base/status.h"
#include "cluster/frame/mode.h"

namespace sonde::cluster {

struct Written;

// As <folder>/<mode's folder>/report.html; adds it to `written`.
Status WriteReport(const Mode& mode, const Outcome& outcome, const std::string& folder,
                   Written& written);

std::string ReportHtml(const Mode& mode, const Outcome& outcome);

}  // namespace sonde::cluster
