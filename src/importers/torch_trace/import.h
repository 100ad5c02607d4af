// Logs that torch writes of its compiler where TORCH_TRACE names a folder, read without torch: one
// file dedicated_log_torch_trace_[rank_R_]*.log a process.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "importers/importer.h"
#include "importers/rows/trace_rows.h"
#include "store/store.h"

namespace sonde::importers {

bool IsTorchTrace(const std::string& path);
// Under any name.
bool HoldsTorchTrace(const std::string& path);
Result<int32_t> TorchTraceRank(const std::string& path);
Result<int64_t> TorchTraceStamp(const std::string& path);
Result<ImportSummary> ImportTorchTrace(const std::string& path, store::Store& store,
                                       const ImportOptions& options);

namespace torch_trace {
// All records of a log as rows.
void ReadLog(std::string_view text, TraceRows& rows);
}  // namespace torch_trace

}  // namespace sonde::importers
