// For fuzz targets and tests: bytes as a file whose name never changes.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/files.h"

namespace sonde::importers::trace_events {

// Path of a file with this content; the next call replaces it.
inline std::string FuzzFile(const uint8_t* data, size_t size) {
  static const std::string path = "/tmp/sonde_fuzz_" + std::to_string(::getpid()) + ".json";
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (!base::WriteFileAtomically(path, text).ok()) std::abort();
  return path;
}

}  // namespace sonde::importers::trace_events
