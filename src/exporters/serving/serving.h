// The summary of a server's session as texts and tables for people.
//
// Pure, any thread; who has them writes serving_summary.txt, .csv and .xlsx of it.
#pragma once

#include <string>
#include <vector>

#include "exporters/format/result_sinks.h"
#include "recipes/serving_summary/serving_summary.h"
#include "store/row_tables.h"

namespace sonde::exporters {

// The text for people; with all of the slowest requests where `is_long`.
std::string RenderServing(const recipes::ServingSummary& summary, bool is_long);

std::string ServingCsv(const recipes::ServingSummary& summary);

// The summary, the requests and the engine steps; moments in ms since the first of all.
std::vector<Sheet> ServingSheets(const recipes::ServingSummary& summary,
                                 const store::RowTables& tables);

}  // namespace sonde::exporters
