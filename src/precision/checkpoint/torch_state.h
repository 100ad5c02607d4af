// The tensors in a file of torch.save(): a state dict, or a model, an optimizer, whatever holds
// some.
//
// Names are the way to a tensor through dicts, lists and attributes, with dots between; a module's
// own `_modules`, `_parameters` and `_buffers` and a distributed tensor's `_local_tensor` are no
// part of them. A file that is one tensor gives it under the name "". Nothing in a file is
// executed. Errors: kCorruptData, kUnimplemented. Pure; `bytes` must outlive the tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "precision/checkpoint/named_tensor.h"

namespace sonde::precision {

struct TorchState {
  std::vector<NamedTensor> tensors;
  uint64_t other_values = 0;                // numbers, texts: steps, options
  std::vector<std::string> left_out;        // tensors that cannot be offered, with the reason
  std::map<std::string, int64_t> settings;  // whole numbers and truth values of `args`, as Megatron
};

Result<TorchState> ReadTorchState(std::span<const std::byte> bytes);

}  // namespace sonde::precision
