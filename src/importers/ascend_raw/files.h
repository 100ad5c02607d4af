// What lies in a folder of raw records, found by names. Pure; opens folders only.
#pragma once

#include <string>
#include <vector>

#include "importers/ascend/span.h"

namespace sonde::importers::raw {

struct Files {
  std::string folder;                    // the span folder, or the PROF_* that was named
  std::vector<SpanFile> framework;       // FRAMEWORK/torch.*
  std::vector<SpanFile> clocks;          // that tell the time: of PROF_*/{host,device_*}
  std::vector<SpanFile> metadata;        // profiler_info*.json, profiler_metadata.json
  std::vector<std::string> all() const;  // paths
};

Files FindFiles(const std::string& path);

// Whether raw records are to be read although finished results lie beside them
// (SONDE_ASCEND_RAW=1).
bool PrefersRaw();

}  // namespace sonde::importers::raw
