// For fuzz targets: bytes as a capture that is whole enough to be read.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace sonde::importers::testing {

// Reads `bytes` as pieces (kind, id, length, bytes) and writes them into `folder` as a capture with
// valid checksums, so that a fuzzer gets behind these; a piece may also be put in as it is. What
// was there of a capture goes.
Status WriteFuzzCapture(std::string_view bytes, const std::string& folder);

}  // namespace sonde::importers::testing
