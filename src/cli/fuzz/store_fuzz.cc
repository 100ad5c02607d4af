// Fuzz target of damaged stores (inputs.h).
#include <cstddef>
#include <cstdint>

#include "cli/fuzz/inputs.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sonde::cli::FuzzStore({reinterpret_cast<const char*>(data), size});
  return 0;
}
