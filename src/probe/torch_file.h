// Files that torch.load() reads as one tensor, also with weights_only=True: a zip archive, stored,
// that holds a pickle program and the elements.
//
// Written row-major from offset 0, on the device "cpu". Threads: free functions, any thread.
// Errors: Status; a file that could not be written whole is removed. A link under the name is
// replaced, never followed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "probe/tensor_view.h"

namespace sonde::probe {

inline constexpr uint64_t kZip64From = 0xffffffff;

// `dtype` as torch names it without its module: "bfloat16". `wide_from`: sizes and offsets from
// which zip64 is used; smaller in tests.
Status WriteTorchFile(const std::string& path, const TensorView& view, std::string_view dtype,
                      uint64_t wide_from = kZip64From);

}  // namespace sonde::probe
