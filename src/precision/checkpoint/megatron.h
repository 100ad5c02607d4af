// Megatron's checkpoints: a file a rank, put together to the tensors of the whole model.
//
// Ranks of tensor parallelism are joined along the axis that Megatron cuts, layers of pipeline
// stages and experts get their numbers in the whole model, and names of older releases become those
// of Megatron core, all as msProbe's comparison of checkpoints has it. Two things differ: a norm's
// weight inside `linear_fc1` is not cut, so it is not joined; and the halves of a gated
// `linear_fc1` are sorted, so that layouts with other numbers of ranks meet.
// Errors: as checkpoint.h. Threads: one.
#pragma once

#include <string>

#include "base/status.h"
#include "precision/checkpoint/checkpoint.h"

namespace sonde::precision {

// Files of torch.distributed.checkpoint, Megatron's --ckpt-format torch_dist with it: a file of
// it, or the folder with its ".metadata". Refused, with a remedy.
bool IsDistributed(const std::string& path);
Status RefuseDistributed(const std::string& path);

bool IsMegatronFolder(const std::string& path);
Result<Checkpoint> LoadMegatron(const std::string& path);

}  // namespace sonde::precision
