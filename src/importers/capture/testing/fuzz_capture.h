// For fuzz targets: bytes as a capture that is valid enough to be read.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace sonde::importers::testing {

// Reads `bytes` as pieces (kind, id, length, bytes) and writes them into `folder` as a capture with
// valid checksums, so that a fuzzer gets behind these; a piece may also be inserted unchanged. An
// older capture there is removed.
Status WriteFuzzCapture(std::string_view bytes, const std::string& folder);

}  // namespace sonde::importers::testing
