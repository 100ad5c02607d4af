// libFuzzer target: bytes as a file of a checkpoint (safetensors, torch in both containers).
#include <cstddef>
#include <cstdint>

#include "precision/fuzz/checkpoint_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sonde::precision::FuzzCheckpoint({reinterpret_cast<const char*>(data), size});
  return 0;
}
