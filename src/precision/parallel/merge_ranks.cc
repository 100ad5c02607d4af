#include "precision/parallel/merge_ranks.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/strings.h"
#include "precision/dump/communication.h"
#include "precision/dump/json_scanner.h"
#include "precision/parallel/pipeline_merger.h"
#include "precision/parallel/tensor_merger.h"

namespace sonde::precision {
namespace {

using base::Concat;
using Trees = std::vector<RankTree*>;

// The ranks of the group that a reduction names; empty when it names none.
std::vector<int64_t> GroupOfReduction(const MergeNode& node) {
  std::vector<int64_t> out;
  for (const MergeRow& row : node.inputs) {
    if (row.key != "input.group" || row.row->kind != LeafKind::kProcessGroup) continue;
    const std::string_view text = row.stats[kMax].text();
    if (text.size() < 2) continue;
    for (const std::string_view rank : base::Split(text.substr(1, text.size() - 2), ',')) {
      if (const auto number = base::ParseInt64(base::Trim(rank))) out.push_back(*number);
    }
  }
  return out;
}

class RankMerger {
 public:
  RankMerger(const std::vector<RankGraph>& graphs, const ParallelLayout& layout)
      : graphs_(graphs), layout_(layout), pipeline_(&forest_, layout.virtual_pipeline) {}

  Result<std::vector<MergedGraph>> Merge();

 private:
  Result<RankGroups> TensorGroups() const;
  Result<RankGroups> PipelineGroups() const;
  // The rank that this one hands its activations to; -1: none.
  int64_t NextRank(const RankGraph& rank) const;
  Result<std::vector<Trees>> Divide(const RankGroups& groups);
  Result<Trees> MergeTensor();
  Result<Trees> MergePipeline();
  Result<Trees> MergeBoth();

  const std::vector<RankGraph>& graphs_;
  const ParallelLayout& layout_;
  MergeForest forest_;
  PipelineMerger pipeline_;
  std::deque<RankTree> trees_;
};

Result<RankGroups> RankMerger::TensorGroups() const {
  RankGroups out;
  for (const RankTree& tree : trees_) {
    for (const int32_t index : forest_.Nodes(tree)) {
      const std::string& name = forest_.node(index).name;
      if (name.find("reduce_scatter") == std::string::npos &&
          name.find("all_reduce") == std::string::npos) {
        continue;
      }
      const std::vector<int64_t> group = GroupOfReduction(forest_.node(index));
      if (!group.empty() && std::find(out.begin(), out.end(), group) == out.end()) {
        out.push_back(group);
      }
      break;
    }
  }
  if (!out.empty() && out[0].size() == static_cast<size_t>(layout_.tensor)) return out;
  return GroupsOf(layout_, "tp");
}

int64_t RankMerger::NextRank(const RankGraph& rank) const {
  const DumpFile& dump = *rank.graph->dump().dump;
  for (const GraphNode& node : rank.graph->nodes()) {
    if (!IsCommunicationName(node.name) || node.api == kNoNode) continue;
    const Communication call = ReadCommunication(dump, dump.apis()[static_cast<size_t>(node.api)]);
    if (call.kind == Communication::Kind::kSend && call.peer >= 0) return call.peer;
    for (const PointToPoint& part : call.batch) {
      if (part.is_send && part.peer >= 0 && part.peer != rank.rank) return part.peer;
    }
  }
  return -1;
}

// Chains of ranks that send to each other.
Result<RankGroups> RankMerger::PipelineGroups() const {
  std::vector<std::pair<int64_t, int64_t>> next;
  for (const RankGraph& rank : graphs_) {
    const int64_t to = NextRank(rank);
    if (to >= 0) next.emplace_back(rank.rank, to);
  }
  const auto target_of = [&next](int64_t rank) {
    const auto found =
        std::find_if(next.begin(), next.end(), [rank](const auto& n) { return n.first == rank; });
    return found == next.end() ? int64_t{-1} : found->second;
  };
  RankGroups out;
  std::set<int64_t> seen;
  for (const auto& [begin, ignored] : next) {
    std::vector<int64_t> chain;
    for (int64_t rank = begin; target_of(rank) >= 0 && seen.insert(rank).second;
         rank = target_of(rank)) {
      chain.push_back(rank);
    }
    if (!chain.empty()) out.push_back(std::move(chain));
  }
  if (!out.empty() && out[0].size() == static_cast<size_t>(layout_.pipeline)) return out;
  return GroupsOf(layout_, "pp");
}

Result<std::vector<Trees>> RankMerger::Divide(const RankGroups& groups) {
  std::vector<Trees> out;
  for (const std::vector<int64_t>& group : groups) {
    Trees& trees = out.emplace_back();
    for (const int64_t rank : group) {
      const auto found = std::find_if(trees_.begin(), trees_.end(),
                                      [rank](const RankTree& tree) { return tree.rank == rank; });
      if (found == trees_.end()) {
        return base::InvalidArgumentError(
            Concat("rank ", std::to_string(rank), " belongs to a group, but has no folder"));
      }
      trees.push_back(&*found);
    }
  }
  return out;
}

Result<Trees> RankMerger::MergeTensor() {
  SONDE_ASSIGN_OR_RETURN(const RankGroups groups, TensorGroups());
  SONDE_ASSIGN_OR_RETURN(const std::vector<Trees> divided, Divide(groups));
  Trees out;
  for (const Trees& trees : divided) {
    forest_.MergeCollections(trees);
    TensorMerger(&forest_, {}).Merge(trees);
    out.push_back(trees[0]);
  }
  return out;
}

Result<Trees> RankMerger::MergePipeline() {
  SONDE_ASSIGN_OR_RETURN(const RankGroups groups, PipelineGroups());
  SONDE_ASSIGN_OR_RETURN(const std::vector<Trees> divided, Divide(groups));
  Trees out;
  for (const Trees& trees : divided) {
    forest_.MergeCollections(trees);
    pipeline_.Merge(trees);
    out.push_back(trees[0]);
  }
  return out;
}

// First each pipeline, then the tensor parallel ranks that are left.
Result<Trees> RankMerger::MergeBoth() {
  SONDE_ASSIGN_OR_RETURN(const RankGroups pipelines, PipelineGroups());
  SONDE_ASSIGN_OR_RETURN(const RankGroups tensors, TensorGroups());
  RankPeers peers;
  for (size_t i = 1; i < tensors.size(); ++i) {
    peers[tensors[i][0]] = {tensors[i].begin() + 1, tensors[i].end()};
  }
  const bool one_replica = layout_.tensor * layout_.pipeline == layout_.rank_size;
  if (one_replica) {
    Trees all;
    for (RankTree& tree : trees_) all.push_back(&tree);
    forest_.MergeCollections(all);
  }
  SONDE_ASSIGN_OR_RETURN(const std::vector<Trees> divided, Divide(pipelines));
  Trees whole;
  for (const Trees& trees : divided) {
    if (!one_replica) forest_.MergeCollections(trees);
    pipeline_.Merge(trees);
    whole.push_back(trees[0]);
  }
  TensorMerger tensor(&forest_, peers);
  Trees out;
  if (one_replica) {
    tensor.Merge(whole);
    out.push_back(whole[0]);
  } else {
    for (const std::vector<int64_t>& group : tensors) {
      Trees trees;
      for (const int64_t rank : group) {
        const auto found = std::find_if(whole.begin(), whole.end(),
                                        [rank](const RankTree* t) { return t->rank == rank; });
        if (found != whole.end()) trees.push_back(*found);
      }
      if (trees.empty()) continue;
      forest_.MergeCollections(trees);
      tensor.Merge(trees);
      out.push_back(trees[0]);
    }
  }
  for (const RankTree* tree : out) forest_.SortCollections(*tree);
  return out;
}

Result<std::vector<MergedGraph>> RankMerger::Merge() {
  for (const RankGraph& rank : graphs_) trees_.push_back(forest_.Add(*rank.graph, rank.rank));
  Result<Trees> trees = base::InternalError("not merged");
  if (layout_.rank_size == 1) {
    forest_.MergeCollections({&trees_[0]});
    trees = Trees{&trees_[0]};
  } else if (layout_.pipeline == 1) {
    trees = MergeTensor();
  } else if (layout_.tensor == 1) {
    trees = MergePipeline();
  } else {
    trees = MergeBoth();
  }
  SONDE_RETURN_IF_ERROR(trees.status());
  std::vector<MergedGraph> out;
  for (const RankTree* tree : *trees) {
    SONDE_ASSIGN_OR_RETURN(MergedGraph merged, forest_.Finish(*tree));
    out.push_back(std::move(merged));
  }
  return out;
}

}  // namespace

Result<std::vector<MergedGraph>> MergeRanks(const std::vector<RankGraph>& graphs,
                                            const ParallelLayout& layout) {
  SONDE_RETURN_IF_ERROR(CheckLayout(layout, graphs.size()));
  return RankMerger(graphs, layout).Merge();
}

int64_t RankOfName(std::string_view name) {
  for (size_t at = name.find("_rank"); at != std::string_view::npos;
       at = name.find("_rank", at + 1)) {
    const size_t end = name.find_first_not_of("0123456789", at + 5);
    if (end == std::string_view::npos || end == at + 5 || name[end] != '.') continue;
    return base::ParseInt64(name.substr(at + 5, end - at - 5)).value_or(-1);
  }
  return -1;
}

}  // namespace sonde::precision
