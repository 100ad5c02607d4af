// Fuzz target of the capture importer: from bytes to nested and numbered threads.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "importers/capture/testing/fuzz_capture.h"
#include "importers/capture/trace.h"

namespace {

const std::string& Folder() {
  static const std::string folder = [] {
    char name[] = "/tmp/sonde_fuzz_XXXXXX";
    const char* made = ::mkdtemp(name);
    return std::string(made != nullptr ? made : "/tmp/sonde_fuzz");
  }();
  return folder;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (!sonde::importers::testing::WriteFuzzCapture(bytes, Folder()).ok()) std::abort();
  const auto loaded = sonde::importers::capture_import::LoadCapture(Folder());
  if (!loaded.ok()) std::abort();  // the header is valid: there is always something to load
  return 0;
}
