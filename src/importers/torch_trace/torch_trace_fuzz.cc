// Fuzz target of TORCH_TRACE logs.
#include <cstdint>
#include <string_view>

#include "importers/torch_trace/import.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sonde::importers;  // NOLINT(google-build-using-namespace): one function
  TraceRows rows;
  torch_trace::ReadLog({reinterpret_cast<const char*>(data), size}, rows);
  rows.Arrange();
  return 0;
}
