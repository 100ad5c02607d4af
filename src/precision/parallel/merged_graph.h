// Turns a tree of merged ranks into a Graph with a dump of its own. Threads: one.
#pragma once

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "precision/parallel/merge_tree.h"

namespace sonde::precision {

class MergedGraphMaker {
 public:
  MergedGraphMaker(const MergeForest& forest, const RankTree& tree)
      : forest_(forest), tree_(tree) {}
  Result<MergedGraph> Make();

 private:
  void AddNode(int32_t index, int32_t parent);
  void AddRows(const MergeNode& node, GraphNode* added);
  void AddRow(const MergeNode& node, const MergeRow& row);
  void FindStack(const MergeNode& node, GraphNode* added);
  std::string_view Keep(std::string text);

  const MergeForest& forest_;
  const RankTree& tree_;
  MergedGraph out_;
  std::string stacks_ = "{";  // stack.json of all stacks that are used
  std::unordered_map<std::string, int32_t> stack_of_text_;
};

}  // namespace sonde::precision
