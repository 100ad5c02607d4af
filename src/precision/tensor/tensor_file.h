// Opens tensor files: torch's .pt (zip container and the older container) and numpy's .npy.
//
// Nothing in a file is executed. Errors name the file: missing, broken, or something else than one
// tensor (kUnimplemented). Threads: pure.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/status.h"
#include "precision/tensor/tensor.h"

namespace sonde::precision {

// By content, not by name.
Result<Tensor> OpenTensorFile(const std::string& path);

// The formats; `bytes` must outlive the tensor. For OpenTensorFile, tests and fuzzing.
Result<Tensor> ParseTorchFile(std::span<const std::byte> bytes);
Result<Tensor> ParseNpyFile(std::span<const std::byte> bytes);

}  // namespace sonde::precision
