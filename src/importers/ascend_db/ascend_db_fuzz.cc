// Fuzz target of the importer of databases: the input is the file.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/files.h"
#include "importers/ascend_db/ascend_db.h"

namespace {

std::string File() {
  static const std::string file = [] {
    char name[] = "/tmp/sonde_fuzz_XXXXXX";
    const char* made = ::mkdtemp(name);
    return std::string(made != nullptr ? made : "/tmp") + "/msprof_1.db";
  }();
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (!sonde::base::WriteFileAtomically(File(), bytes).ok()) std::abort();
  sonde::importers::TraceRows rows;
  if (sonde::importers::ReadAscendDb(File(), rows).ok()) rows.Arrange();
  return 0;
}
