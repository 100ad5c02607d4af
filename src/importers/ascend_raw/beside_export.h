// The framework's raw records of a span that the device tool has exported: read into the rows of
// the export, and joined to them by the host's calls.
//
// One thread. Errors of files are import issues.
#pragma once

#include <cstdint>
#include <vector>

#include "importers/ascend/span.h"
#include "importers/rows/trace_rows.h"

namespace sonde::importers {

// FRAMEWORK/torch.* of a span whose only results are those of the device tool; empty where there
// are none, or where the framework's layer was analysed.
std::vector<SpanFile> FrameworkRecordsNextTo(const AscendSpan& span);

// The place on the host where a task or an operation was launched.
struct LaunchPoint {
  int32_t slice_id = 0;  // of the task or operation
  int64_t tid = 0;
  int64_t ts = 0;  // nanoseconds
};

// After the rows of the export, before its tasks are known to be launched by anything. `launches`:
// all there are; null: taken from the calls among the rows. Returns the framework's process,
// store::kNone where the records name none.
int32_t AddFrameworkRecords(const AscendSpan& span, const std::vector<SpanFile>& files,
                            TraceRows& rows, const std::vector<LaunchPoint>* launches = nullptr);

}  // namespace sonde::importers
