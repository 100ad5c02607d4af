// `sonde probe compare` of two checkpoints: every tensor, how it differs, and the conclusion.
//
//   checkpoint_compare_<time>.csv    a row a tensor: msProbe's l2, cos, numel and shape, and ours
//   ckpt_similarity_<time>.json      msProbe's table: the tensors of both, by name
//
// Tensors are paired by name; a prefix of one side's names (`module.`) is reported
// and removed. A tensor that differs and holds the values of another one is named with it. The
// types of a pair may differ: differences that rounding to the coarser one explains are listed
// apart. Errors: a checkpoint that cannot be read, nothing in common. Threads: parallel inside.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace sonde::precision {

struct CheckpointOptions {
  std::string target_path;
  std::string golden_path;
  std::string output_path = {};  // a folder
  std::string json_path = {};    // instead of the name in the folder; then there is no csv
};

struct CheckpointOutcome {
  std::string target_kind;
  std::string golden_kind;
  uint64_t equal = 0;
  uint64_t rounded = 0;  // to the coarser type of the two
  uint64_t different = 0;
  uint64_t reshaped = 0;  // whose shapes differ
  std::vector<std::string> target_only;
  std::vector<std::string> golden_only;
  std::string conclusion;             // one sentence
  std::vector<std::string> findings;  // tensors that differ, the furthest first
  std::vector<std::string> notes;
  std::vector<std::string> files;
};

Result<CheckpointOutcome> CompareCheckpoints(const CheckpointOptions& options);

}  // namespace sonde::precision
