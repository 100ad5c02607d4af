// Files of MindSpore's own recorders on a machine without Ascend, read without MindSpore: FRAMEWORK
// text files of its profiler (also where it was killed before its analysis), RuntimeProfiler*.csv
// of the runtime profiler, and the binary mindspore.op_range. A path is one of these files, the
// folder that holds them, or a span folder (*_ascend_ms) around FRAMEWORK.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "importers/importer.h"
#include "store/store.h"

namespace sonde::importers {

bool IsMindspore(const std::string& path);
Result<int32_t> MindsporeRank(const std::string& path);
Result<int64_t> MindsporeStamp(const std::string& path);
Result<ImportSummary> ImportMindspore(const std::string& path, store::Store& store,
                                      const ImportOptions& options);

}  // namespace sonde::importers
