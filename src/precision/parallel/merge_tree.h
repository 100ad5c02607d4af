// Call graphs of many ranks as trees that can be changed: renamed, moved from rank to rank, with
// statistics of their own. What is left of them in the end becomes one Graph again.
//
// Nodes of all ranks live in one MergeForest and are named by their index in it; a RankTree is the
// part that one rank (or a merged one) shows. The graphs must outlive the forest.
// Threads: one.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "precision/graph/graph.h"

namespace sonde::precision {

// One input or output of a call.
struct MergeRow {
  const DumpRow* row = nullptr;
  std::string_view key;  // its name without the call's: "input.0"
  std::array<Value, kStatisticCount> stats;
  bool changed = false;  // the statistics are no longer the row's
};

struct MergeNode {
  std::string name;
  NodeType type = NodeType::kModule;
  int32_t parent = kNoNode;
  std::vector<int32_t> children;
  std::vector<MergeRow> inputs;  // everything but outputs
  std::vector<MergeRow> outputs;
  int64_t rank = 0;
  const Graph* origin = nullptr;  // its graph, for stack and record; null: made by the merge
  int32_t origin_node = kNoNode;
  int32_t micro_step = 0;
  std::vector<std::string> merge_info;
  bool pipeline_merged = false;  // its twins of other ranks are next to it
  int32_t pipeline_index = -1;   // number of its layer among all ranks; -1: not given
  uint64_t place = 0;            // when it was last put into its tree
};

struct RankTree {
  int64_t rank = 0;
  int32_t root = kNoNode;
  int32_t list_count = 0;  // collections of all ranks that were made
  std::unordered_map<std::string, int32_t> by_name;
  std::vector<std::pair<int32_t, uint64_t>> order;  // nodes as they were put in, with their place
};

// A merged rank: all that a Graph refers to.
struct MergedGraph {
  int64_t rank = 0;
  std::unique_ptr<std::deque<std::string>> texts;
  std::unique_ptr<DumpFolder> folder;
  std::unique_ptr<Graph> graph;
  std::vector<std::string> merge_info;  // JSON by node, "" for most
};

class MergeForest {
 public:
  RankTree Add(const Graph& graph, int64_t rank);

  MergeNode& node(int32_t index) { return nodes_[static_cast<size_t>(index)]; }
  const MergeNode& node(int32_t index) const { return nodes_[static_cast<size_t>(index)]; }
  int32_t NewNode(std::string name, NodeType type);

  // kNoNode when the tree has no such node.
  static int32_t Find(const RankTree& tree, const std::string& name);
  void Put(RankTree* tree, int32_t index);
  static void Remove(RankTree* tree, const std::string& name) { tree->by_name.erase(name); }
  void PutSubtree(RankTree* tree, int32_t top);
  // The nodes of the tree in the order in which they were put in.
  std::vector<int32_t> Nodes(const RankTree& tree) const;

  // The names from the root to the parent are equal.
  bool SameAncestors(int32_t a, int32_t b) const;

  // The loose calls of several ranks under one collection.
  void MergeCollections(const std::vector<RankTree*>& trees);
  void SortCollections(const RankTree& tree);

  Result<MergedGraph> Finish(const RankTree& tree);

 private:
  void MergeCollection(const std::vector<RankTree*>& trees, int32_t first);
  void JoinCollections(const std::vector<RankTree*>& trees, int32_t first);

  std::deque<MergeNode> nodes_;
  uint64_t places_ = 0;
};

inline constexpr std::string_view kCollectionName = "Apis_Between_Modules";
inline constexpr std::string_view kSharedCollectionName = "Apis_Between_Modules_All_Ranks";

// "Torch.mm.0.forward" -> "Torch.mm_rank3.0.forward".
std::string WithRank(std::string_view name, std::string_view rank);

}  // namespace sonde::precision
