// Where temporary files go, as users of a shell expect it. Threads: any, while none sets variables.
#pragma once

#include <cstdlib>
#include <string>

namespace sonde::base {

// TMPDIR where it is set, else /tmp.
inline std::string TemporaryRoot() {
  const char* folder = std::getenv("TMPDIR");  // NOLINT(concurrency-mt-unsafe)
  return folder != nullptr && *folder != '\0' ? folder : "/tmp";
}

}  // namespace sonde::base
