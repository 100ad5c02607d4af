// Traces of PyTorch's own profiler (Kineto): CUDA, ROCm, CPU, other devices; every era of the
// format, plain or packed.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "importers/importer.h"
#include "store/store.h"

namespace sonde::importers {

bool IsKineto(const std::string& path);
// The same for a file of any name.
bool HoldsKineto(const std::string& path);
Result<int32_t> KinetoRank(const std::string& path);
int32_t KinetoWorld(const std::string& path);
Result<int64_t> KinetoStamp(const std::string& path);
Result<ImportSummary> ImportKineto(const std::string& path, store::Store& store,
                                   const ImportOptions& options);

}  // namespace sonde::importers
