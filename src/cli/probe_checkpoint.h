// Two checkpoints instead of two dumps: what `sonde probe compare` and `config_check -c` share.
//
// Errors: as precision/checkpoint/checkpoint_compare.h. Threads: one.
#pragma once

#include <string>

#include "base/status.h"
#include "precision/checkpoint/checkpoint_compare.h"

namespace sonde::cli {

// Both paths are checkpoints. Fails when one is and the other is not.
Result<bool> AreCheckpoints(const std::string& target, const std::string& golden);

// Compares, and prints what came out.
Result<int> CompareCheckpointFiles(const precision::CheckpointOptions& options);

}  // namespace sonde::cli
