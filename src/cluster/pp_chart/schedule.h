// What a stage of the pipeline schedule DualPipeV does, in order: two chunks of the model on each
// rank, micro batches 0 ... n-1 through the first, n ... 2n-1 through the second.
//
//   types   0 warm-up, 1 interleaved forward, 2 backward, weights and forward, 3 overlapped, 4
//           backward and overlapped, 5 interleaved backward, 6 cool-down
//   names   "3" forward; "5b", "5w" backward of input and weights; "5B" backward; "3F+5B" both at
//           once; "logits" on the first stage
// Pure, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sonde::cluster {

struct ScheduledPart {
  std::string name;
  int64_t type = 0;
};

// Empty where there are fewer than twice as many micro batches as stages.
std::vector<ScheduledPart> DualPipeV(int64_t stages, int64_t micro_batches, int64_t stage);

}  // namespace sonde::cluster
