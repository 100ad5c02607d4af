// Pipeline parallel ranks: the same wrappers with layers of their own inside. The layers of all
// ranks are put side by side and renumbered. Threads: one.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "precision/parallel/merge_tree.h"
#include "precision/parallel/parallel_layout.h"

namespace sonde::precision {

class PipelineMerger {
 public:
  PipelineMerger(MergeForest* forest, int64_t virtual_pipeline)
      : forest_(*forest), chunks_(virtual_pipeline) {}

  // Into the first tree.
  void Merge(const std::vector<RankTree*>& trees);

 private:
  // Where a node stood in its rank, until it gets its name.
  struct Mark {
    int64_t position = 0;
    int64_t rank = 0;
  };

  void MergeNodes(int32_t main);
  bool AreParts(int32_t main, const std::vector<int32_t>& twins) const;
  void TakeUnique(int32_t main, const std::vector<int32_t>& twins);
  void MoveBeside(int32_t index, int32_t parent);
  void MarkSubtree(int32_t index, int64_t rank);
  void SortMarked(int32_t top);
  void SortChildren(int32_t parent, bool forward);
  void Rename(int32_t top);
  void MergeUniqueAtRoot();
  // The interleaved schedule: chunks of one rank become one.
  void TakeChunkData();
  void MoveChunks();
  void NumberLayers(const std::vector<int32_t>& layers, bool forward);
  void RenameTo(int32_t index, std::string name);
  bool IsMarked(int32_t index) const { return marks_.contains(index); }
  bool IsMergedLayer(int32_t index) const {
    return forest_.node(index).pipeline_merged || forest_.node(index).pipeline_index >= 0;
  }

  MergeForest& forest_;
  int64_t chunks_;
  std::vector<RankTree*> trees_;
  std::unordered_map<int32_t, Mark> marks_;
};

}  // namespace sonde::precision
