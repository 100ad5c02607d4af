// Writes what the advisor found: a workbook as the reference lays it out, a page that needs nothing
// else, a table for the terminal, JSON for programs.
//
// Every file appears complete under its name, or not at all. One thread. Errors: Status.
#pragma once

#include <string>
#include <vector>

#include "advisor/output/report.h"
#include "base/status.h"

namespace sonde::advisor {

// mstt_advisor_<time>.html, log/mstt_advisor_<time>.xlsx and, where there are operators to tune,
// operator_tuning_file_<time>.cfg; their paths. Nothing where nothing was found.
Result<std::vector<std::string>> Write(const Report& report, const std::string& folder);

Status WriteWorkbook(const Report& report, const std::string& path);
std::string HtmlOf(const Report& report);

// The table of the terminal, and a line for each advice with its evidence.
std::string ConsoleText(const Report& report);
// What --agent prints, one line; `files` were written.
std::string AgentLine(const Report& report, const std::vector<std::string>& files);
std::string AgentErrorLine(const Status& status);

// "7 times, 3.2 ms; could gain 1.1 ms: ...", in the language of the report.
std::string EvidenceText(const Report& report, const Advice& advice);
// The command that opens the trace at the place of the advice; "" where there is none.
std::string PlaceCommand(const Advice& advice);
std::string_view NameOf(Priority priority);
// On which the links of the page look for `sonde view`.
inline constexpr int kViewPort = 8765;

// The first sheet of the reference, heading first: one row for each advice that it knows.
std::vector<std::vector<Value>> ProblemRows(const Report& report);
// The command that shows what was judged; "" where no statement does.
std::string QueryCommand(const Advice& advice);
// The heading and rows of all advice with its evidence.
std::vector<std::vector<Value>> EvidenceRows(const Report& report);

}  // namespace sonde::advisor
