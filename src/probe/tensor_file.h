// The file of a tensor, in the form that its name asks for: `.npy` for numpy, else torch's.
//
// Threads: free functions, any thread. Errors: as WriteTorchFile() and WriteNumpyFile().
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "probe/tensor_view.h"

namespace sonde::probe {

// `dtype` as torch names it without its module: "bfloat16".
Status WriteTensorFile(const std::string& path, const TensorView& view, std::string_view dtype);

}  // namespace sonde::probe
