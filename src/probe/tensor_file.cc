#include "probe/tensor_file.h"

#include "probe/numpy_file.h"
#include "probe/torch_file.h"

namespace sonde::probe {

Status WriteTensorFile(const std::string& path, const TensorView& view, std::string_view dtype) {
  return path.ends_with(".npy") ? WriteNumpyFile(path, view) : WriteTorchFile(path, view, dtype);
}

}  // namespace sonde::probe
