// Pairs the dump of a training engine (the target) with that of the inference engine that served
// the same model in reinforcement learning.
//
// The two name their modules differently, and one engine computes in one module what the other
// computes in several (q_proj, k_proj and v_proj against qkv_proj). Rows belong together when call
// direction, parameter, layer and renamed module are equal; rows of several modules that stand for
// one are put together: extremes of the extremes, texts of the means and norms, the tensors behind
// one another.
// Errors: checksums cannot be put together; dumps of single points have no modules.
// Threads: works in parallel inside.
#pragma once

#include <string_view>

#include "base/status.h"
#include "precision/compare/comparison.h"
#include "precision/dump/dump_file.h"

namespace sonde::precision {

// Names that are put together stand with `separator` between them. As PairAndCompare(), tensor mode
// is left to be filled and judged.
Result<Comparison> PairEngines(const DumpFile& training, const DumpFile& inference, Mode mode,
                               Engine engine, std::string_view separator);

}  // namespace sonde::precision
