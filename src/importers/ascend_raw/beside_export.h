// The framework's raw records beside what the device tool has exported of the same span: read into
// the rows that the export was read into, and joined to them by the host's calls.
//
// One thread. Errors of files are import issues.
#pragma once

#include <string>
#include <vector>

#include "importers/ascend/span.h"
#include "importers/rows/trace_rows.h"

namespace sonde::importers {

// FRAMEWORK/torch.* of a span whose only results are those of the device tool, with a database
// among them; empty where there are none, or where the framework's layer was analysed.
std::vector<SpanFile> FrameworkRecordsBeside(const AscendSpan& span);

// After the rows of the export, before its tasks are known to be launched by anything.
void AddFrameworkRecords(const AscendSpan& span, const std::vector<SpanFile>& files,
                         TraceRows& rows);

}  // namespace sonde::importers
