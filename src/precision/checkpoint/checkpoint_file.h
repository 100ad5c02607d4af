// One file of a checkpoint, by its content: safetensors, or what torch.save() wrote.
//
// Tensors keep the file mapped. Errors name the file. Threads: one.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "precision/checkpoint/named_tensor.h"

namespace sonde::precision {

struct CheckpointFile {
  std::vector<NamedTensor> tensors;
  std::vector<std::string> left_out;
  std::map<std::string, int64_t> settings;  // see TorchState
  uint64_t other_values = 0;
  bool is_safetensors = false;
};

Result<CheckpointFile> OpenCheckpointFile(const std::string& path);

}  // namespace sonde::precision
