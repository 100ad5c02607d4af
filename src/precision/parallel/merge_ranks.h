// Merges the call graphs of ranks that compute one model together: tensor parallel ranks have parts
// of each call's numbers, pipeline parallel ranks have parts of the layers.
//
// Made for Megatron's modules. Groups of ranks are read off the communication calls, else they
// follow from the layout. Threads: one.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "precision/parallel/merge_tree.h"
#include "precision/parallel/parallel_layout.h"

namespace sonde::precision {

struct RankGraph {
  const Graph* graph = nullptr;
  int64_t rank = 0;
};

// One graph a replica of the model.
Result<std::vector<MergedGraph>> MergeRanks(const std::vector<RankGraph>& graphs,
                                            const ParallelLayout& layout);

// The number in a merged call's name, "_rank3" -> 3; -1 without one.
int64_t RankOfName(std::string_view name);

}  // namespace sonde::precision
