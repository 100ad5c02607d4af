// The tensors of a checkpoint by name, wherever they lie.
//
//   model.safetensors, model.pt, .pth, .bin, .ckpt       one file
//   a folder with shards, with or without *.index.json   Hugging Face, plain files of several ranks
//   iter_0000100/mp_rank_00_001/model_optim_rng.pt, or the folder above with
//   latest_checkpointed_iteration.txt                    Megatron: ranks are put together
//
// Where files of one folder hold equal names (one file a rank), the name begins with the file's.
// Files stay mapped as long as the tensors live. Errors: nothing that could be read, shards that an
// index names and that are missing, a broken file. Threads: one; the result is read-only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "precision/checkpoint/named_tensor.h"

namespace sonde::precision {

struct Checkpoint {
  std::string kind;                   // "safetensors, 3 files"
  std::vector<NamedTensor> tensors;   // sorted, numbers in names by value
  std::vector<std::string> notes;     // what was decided on the way
  std::vector<std::string> left_out;  // tensors that cannot be compared, with the reason
  uint64_t other_values = 0;          // numbers and texts other than tensors
};

// Whether a path looks like one; a folder of dumps does not.
bool IsCheckpoint(const std::string& path);

Result<Checkpoint> LoadCheckpoint(const std::string& path);

// "layers.2" before "layers.10".
bool NaturallyBefore(std::string_view a, std::string_view b);

}  // namespace sonde::precision
