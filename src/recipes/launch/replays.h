// Kernels of replayed graphs (CUDA, HIP), and the calls that captured them.
//
// Work of a replay has no call of its own. While a graph is captured each launch puts a kernel into
// it, and a replay runs them in that order: the n-th kernel of a replay is that of the n-th launch.
// No id in a trace says which capture a replay is of. One is taken where the number of kernels
// agrees, no name of a generated kernel contradicts, and most operators have launched such a kernel
// elsewhere in the trace, or none at all. Where several captures are like that (one a batch size)
// their launches must lie in the same operators and modules. A replay on several streams has no
// order that is known. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "recipes/trace/trace_data.h"

namespace sonde::recipes {

// Launches between the begin and the end of each capture, in their order; of launches within each
// other the outermost. Needs names and slices. Cost: linear where the trace has a capture.
std::vector<std::vector<int32_t>> CapturedLaunches(const TraceData& data);

// By place in data.tasks, the launch that captured it; empty where the trace replays nothing that
// it saw captured. calls: those that launched each task. Needs also tasks, kinds and ops.
std::vector<int32_t> LaunchesOfReplays(const TraceData& data, std::span<const int32_t> calls);

// The innermost operator around a slice, or itself; store::kNone: none.
int32_t OperatorAround(const TraceData& data, int32_t slice_id);

}  // namespace sonde::recipes
