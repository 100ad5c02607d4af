// Files that numpy.load() reads as one array, version 1.0 of its format.
//
// Written row-major. Types that numpy lacks: bfloat16 is written as float32, one-byte floats as
// their bytes. Threads: free functions, any thread. Errors: Status; a file that could not be
// written whole is removed. A link under the name is replaced, never followed.
#pragma once

#include <string>

#include "base/status.h"
#include "probe/tensor_view.h"

namespace sonde::probe {

Status WriteNumpyFile(const std::string& path, const TensorView& view);

}  // namespace sonde::probe
