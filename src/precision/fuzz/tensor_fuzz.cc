// libFuzzer target: bytes as a tensor file (.npy, .pt in both containers, ATB), and as a bare
// pickle; a tensor that comes out is read to its last element.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "precision/kernels/atb_tensor.h"
#include "precision/tensor/metrics.h"
#include "precision/tensor/pickle.h"
#include "precision/tensor/tensor_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (text.starts_with('$')) {
    const auto tensor = sonde::precision::ParseAtbTensor(bytes);
    if (tensor.ok()) sonde::precision::CompareTensors(*tensor, *tensor);
    return 0;
  }
  const bool npy = text.starts_with("\x93NUMPY");
  auto tensor =
      npy ? sonde::precision::ParseNpyFile(bytes) : sonde::precision::ParseTorchFile(bytes);
  if (tensor.ok()) sonde::precision::CompareTensors(*tensor, *tensor);
  if (npy) return 0;
  sonde::precision::PicklePool pool;
  size_t consumed = 0;
  (void)sonde::precision::ReadPickle(text, &pool, &consumed);
  return 0;
}
