// One file of a checkpoint, by its content: safetensors, or what torch.save() wrote.
//
// Tensors keep the file mapped. Errors name the file. Threads: one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
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

// The same of bytes that outlive the tensors; `name` decides what bytes that are neither are
// called.
Result<CheckpointFile> ReadCheckpointFile(std::span<const std::byte> bytes, std::string_view name);

}  // namespace sonde::precision
