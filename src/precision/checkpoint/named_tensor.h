// One tensor of a checkpoint.
#pragma once

#include <string>

#include "precision/tensor/tensor.h"

namespace sonde::precision {

struct NamedTensor {
  std::string name;  // "model.layers.0.mlp.up_proj.weight"
  Tensor tensor;
};

}  // namespace sonde::precision
