// The tensors that ATB (Ascend's transformer library) dumps: lines `key=value` up to `$End=`, then
// the values.
//
//   $Version=1.0
//   dtype=1            0 float32, 1 float16, 2 int8, 3 int32, 9 int64, 12 bool, 27 bfloat16
//   dims=4,896
//   $End=1
//
// Errors: Status that names what is wrong. Threads: pure.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/status.h"
#include "precision/tensor/tensor.h"

namespace sonde::precision {

Result<Tensor> OpenAtbTensor(const std::string& path);

// `bytes` must outlive the tensor.
Result<Tensor> ParseAtbTensor(std::span<const std::byte> bytes);

}  // namespace sonde::precision
