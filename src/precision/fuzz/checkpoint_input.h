// Work of the fuzz target of checkpoints on an input: bytes as a file of a checkpoint, in any
// of its forms, read, paired with itself and compared to the last element. Returned is how many
// tensors were compared, so that a test sees that good inputs get so far. Threads: any.
#pragma once

#include <string_view>

namespace sonde::precision {

int FuzzCheckpoint(std::string_view input);

}  // namespace sonde::precision
