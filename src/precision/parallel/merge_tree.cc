#include "precision/parallel/merge_tree.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "precision/graph/node_json.h"
#include "precision/parallel/merged_graph.h"

namespace sonde::precision {
namespace {

using base::Concat;

std::string_view KeyOf(const DumpRow& row, std::string_view call) {
  const bool below = row.name.starts_with(call) && row.name.size() > call.size();
  return below ? row.name.substr(call.size() + 1) : row.name;
}

// "Apis_Between_Modules.2" -> "Apis_Between_Modules_Rank3.2".
std::string OfRank(std::string_view collection, int64_t rank) {
  return Concat(kCollectionName, "_Rank", std::to_string(rank),
                collection.substr(collection.rfind('.')));
}

int64_t RankInName(std::string_view name) {
  const size_t at = name.find("_Rank");
  if (at == std::string_view::npos) return -1;
  const std::string_view rest = name.substr(at + 5);
  return base::ParseInt64(rest.substr(0, rest.find('.'))).value_or(-1);
}

}  // namespace

std::string WithRank(std::string_view name, std::string_view rank) {
  const size_t first = name.find('.');
  if (first == std::string_view::npos) return std::string(name);
  const size_t second = std::min(name.find('.', first + 1), name.size());
  return Concat(name.substr(0, second), "_rank", rank, name.substr(second));
}

int32_t MergeForest::NewNode(std::string name, NodeType type) {
  MergeNode& added = nodes_.emplace_back();
  added.name = std::move(name);
  added.type = type;
  return static_cast<int32_t>(nodes_.size()) - 1;
}

int32_t MergeForest::Find(const RankTree& tree, const std::string& name) {
  const auto found = tree.by_name.find(name);
  return found == tree.by_name.end() ? kNoNode : found->second;
}

void MergeForest::Put(RankTree* tree, int32_t index) {
  if (!tree->by_name.emplace(node(index).name, index).second) return;
  node(index).place = ++places_;
  tree->order.emplace_back(index, places_);
}

void MergeForest::PutSubtree(RankTree* tree, int32_t top) {
  Put(tree, top);
  for (const int32_t child : node(top).children) PutSubtree(tree, child);
}

std::vector<int32_t> MergeForest::Nodes(const RankTree& tree) const {
  std::vector<int32_t> out;
  for (const auto& [index, place] : tree.order) {
    if (node(index).place == place && Find(tree, node(index).name) == index) out.push_back(index);
  }
  return out;
}

bool MergeForest::SameAncestors(int32_t a, int32_t b) const {
  a = node(a).parent;
  b = node(b).parent;
  while (a != kNoNode && b != kNoNode && node(a).name == node(b).name) {
    a = node(a).parent;
    b = node(b).parent;
  }
  return a == b;  // both kNoNode
}

RankTree MergeForest::Add(const Graph& graph, int64_t rank) {
  RankTree tree;
  tree.rank = rank;
  const auto first = static_cast<int32_t>(nodes_.size());
  const DumpFile& dump = *graph.dump().dump;
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const GraphNode& from = graph.nodes()[i];
    MergeNode& to = nodes_.emplace_back();
    to.name = from.name;
    to.type = from.type;
    to.parent = from.parent == kNoNode ? kNoNode : from.parent + first;
    for (const int32_t child : from.children) to.children.push_back(child + first);
    to.rank = rank;
    to.origin = &graph;
    to.origin_node = static_cast<int32_t>(i);
    to.micro_step = from.micro_step;
    if (from.api == kNoNode) continue;
    const DumpApi& api = dump.apis()[static_cast<size_t>(from.api)];
    for (uint32_t r = api.first_row; r < api.first_row + api.row_count; ++r) {
      const DumpRow& row = dump.rows()[r];
      MergeRow& added = (row.section == Section::kOutput ? to.outputs : to.inputs).emplace_back();
      added.row = &row;
      added.key = KeyOf(row, api.name);
      std::copy(std::begin(row.stats), std::end(row.stats), added.stats.begin());
    }
  }
  tree.root = first;
  // A parent comes before its child, else the order of construct.json.
  Put(&tree, first);
  for (const ConstructEntry& entry : graph.dump().construct->entries()) {
    const int32_t index = graph.Find(entry.name);
    const int32_t parent = graph.node(index).parent;
    if (parent != kNoNode && graph.node(parent).type != NodeType::kApiList) {
      Put(&tree, parent + first);
    }
    Put(&tree, index + first);
  }
  for (size_t i = 0; i < graph.nodes().size(); ++i) Put(&tree, first + static_cast<int32_t>(i));
  return tree;
}

// Collections of all ranks, made by an earlier merge, take each other's members.
void MergeForest::JoinCollections(const std::vector<RankTree*>& trees, int32_t first) {
  for (size_t t = 1; t < trees.size(); ++t) {
    const int32_t other = Find(*trees[t], node(first).name);
    if (other == kNoNode) continue;
    for (const int32_t member : node(other).children) {
      node(member).parent = first;
      // The calls of a merge's first rank still have their plain names.
      for (const int32_t call : node(member).children) {
        if (Find(*trees[0], node(call).name) == kNoNode) continue;
        node(call).name = WithRank(node(call).name, std::to_string(node(call).rank));
      }
      PutSubtree(trees[0], member);
      node(first).children.push_back(member);
    }
  }
}

void MergeForest::MergeCollection(const std::vector<RankTree*>& trees, int32_t first) {
  RankTree* const main = trees[0];
  const int32_t shared = NewNode(
      Concat(kSharedCollectionName, ".", std::to_string(main->list_count++)), NodeType::kApiList);
  node(shared).parent = main->root;
  node(shared).rank = main->rank;
  node(shared).micro_step = node(first).micro_step;
  Put(main, shared);
  const std::string old_name = node(first).name;
  Remove(main, old_name);
  node(first).name = OfRank(old_name, main->rank);
  node(first).parent = shared;
  node(shared).children.push_back(first);
  Put(main, first);
  for (size_t t = 1; t < trees.size(); ++t) {
    const int32_t other = Find(*trees[t], old_name);
    if (other == kNoNode) continue;
    node(other).name = OfRank(old_name, trees[t]->rank);
    node(other).parent = shared;
    node(shared).children.push_back(other);
    Put(main, other);
    for (const int32_t call : node(other).children) {
      node(call).name = WithRank(node(call).name, std::to_string(trees[t]->rank));
      Put(main, call);
    }
  }
  std::replace(node(main->root).children.begin(), node(main->root).children.end(), first, shared);
}

void MergeForest::MergeCollections(const std::vector<RankTree*>& trees) {
  const std::vector<int32_t> children = node(trees[0]->root).children;
  for (const int32_t child : children) {
    if (node(child).name.starts_with(kSharedCollectionName)) {
      JoinCollections(trees, child);
    } else if (node(child).name.starts_with(kCollectionName)) {
      MergeCollection(trees, child);
    }
  }
}

void MergeForest::SortCollections(const RankTree& tree) {
  for (const int32_t child : node(tree.root).children) {
    if (!node(child).name.starts_with(kSharedCollectionName)) continue;
    std::vector<int32_t>& members = node(child).children;
    std::stable_sort(members.begin(), members.end(), [this](int32_t a, int32_t b) {
      return RankInName(node(a).name) < RankInName(node(b).name);
    });
  }
}

Result<MergedGraph> MergeForest::Finish(const RankTree& tree) {
  return MergedGraphMaker(*this, tree).Make();
}

}  // namespace sonde::precision
