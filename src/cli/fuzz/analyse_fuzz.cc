// Fuzz target of the whole way of a trace (inputs.h).
#include <cstddef>
#include <cstdint>

#include "cli/fuzz/inputs.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sonde::cli::FuzzAnalysis({reinterpret_cast<const char*>(data), size});
  return 0;
}
