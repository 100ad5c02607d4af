// All ranks of one side of a step, read and merged. Threads: one.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "precision/dump/dump_tree.h"
#include "precision/parallel/merge_ranks.h"

namespace sonde::precision {

struct MergedSide {
  std::vector<RankFolder> folders;
  // The sources of the merged graphs, which refer to them.
  std::deque<DumpFolder> dumps;
  std::deque<Graph> graphs;
  std::vector<MergedGraph> merged;
};

// Appends lines for the user to `notes`.
Result<MergedSide> MergeSide(const DumpTree& tree, int64_t step, const ParallelLayout& layout,
                             std::vector<std::string>* notes);

// The folder of a merged graph's first rank.
const RankFolder& FolderOf(const MergedSide& side, const MergedGraph& merged);

}  // namespace sonde::precision
