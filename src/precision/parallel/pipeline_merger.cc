#include "precision/parallel/pipeline_merger.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/strings.h"
#include "precision/parallel/tensor_merger.h"

namespace sonde::precision {
namespace {

using base::Concat;

constexpr std::string_view kForward = ".forward.";
constexpr std::string_view kBackward = ".backward.";

bool IsLayer(const MergeNode& node) {
  return FindLayerNumber(node.name).begin != std::string_view::npos;
}

// "Module.<chunk>.x": the chunk's text; empty for other names.
std::string_view ChunkOf(std::string_view name) {
  const size_t first = name.find('.');
  if (first == std::string_view::npos) return {};
  return name.substr(first + 1, name.find('.', first + 1) - first - 1);
}

std::string WithChunk(const std::string& name, const std::string& chunk) {
  const std::string_view old = ChunkOf(name);
  if (old.empty() || old.find_first_not_of("0123456789") != std::string_view::npos) return name;
  const size_t at = name.find('.') + 1;
  return Concat(name.substr(0, at), chunk, name.substr(at + old.size()));
}

bool IsForwardModule(std::string_view name) {
  const size_t at = name.rfind(kForward);
  return at != std::string_view::npos &&
         name.find_first_not_of("0123456789", at + kForward.size()) == std::string_view::npos;
}

// Whether a side of the twins differs from that of the main node, in any row.
bool SideDiffers(const std::vector<MergeRow>& main,
                 const std::vector<const std::vector<MergeRow>*>& others) {
  for (const MergeRow& row : main) {
    if (!IsMergedDtype(row.row->dtype)) continue;
    for (const std::vector<MergeRow>* rows : others) {
      const auto found = std::find_if(rows->begin(), rows->end(),
                                      [&row](const MergeRow& r) { return r.key == row.key; });
      if (found == rows->end() || !IsMergedDtype(found->row->dtype)) break;
      if (!SameStatistics(row, *found, true)) return true;
    }
  }
  return false;
}

}  // namespace

bool PipelineMerger::AreParts(int32_t main, const std::vector<int32_t>& twins) const {
  const MergeNode& node = forest_.node(main);
  std::vector<const std::vector<MergeRow>*> inputs;
  std::vector<const std::vector<MergeRow>*> outputs;
  for (const int32_t twin : twins) {
    inputs.push_back(&forest_.node(twin).inputs);
    outputs.push_back(&forest_.node(twin).outputs);
  }
  if (IsLayer(node) && SideDiffers(node.inputs, inputs) && SideDiffers(node.outputs, outputs)) {
    return true;
  }
  // A backward call may have no output: its forward call decides.
  if (!base::Contains(node.name, kBackward)) return false;
  const int32_t forward =
      MergeForest::Find(*trees_[0], base::ReplaceAll(node.name, kBackward, kForward));
  return forward != kNoNode && forest_.node(forward).pipeline_merged;
}

// The name is given later; until then the node is known by its place.
void PipelineMerger::MarkSubtree(int32_t index, int64_t rank) {
  const int32_t parent = forest_.node(index).parent;
  Mark mark;
  mark.rank = rank;
  if (parent != kNoNode) {
    const std::vector<int32_t>& siblings = forest_.node(parent).children;
    const auto at = std::find(siblings.begin(), siblings.end(), index);
    mark.position = at == siblings.end() ? 0 : at - siblings.begin();
  }
  marks_[index] = mark;
  for (const int32_t child : forest_.node(index).children) MarkSubtree(child, rank);
}

void PipelineMerger::MoveBeside(int32_t index, int32_t parent) {
  MarkSubtree(index, forest_.node(index).rank);
  forest_.node(index).parent = parent;
  forest_.node(parent).children.push_back(index);
}

// Children that only one of the other ranks has.
void PipelineMerger::TakeUnique(int32_t main, const std::vector<int32_t>& twins) {
  std::vector<int32_t> nodes = {main};
  nodes.insert(nodes.end(), twins.begin(), twins.end());
  std::map<std::string_view, size_t> owners;
  for (const int32_t node : nodes) {
    std::set<std::string_view> names;
    for (const int32_t child : forest_.node(node).children) names.insert(forest_.node(child).name);
    for (const std::string_view name : names) ++owners[name];
  }
  std::vector<int32_t> unique;
  for (const int32_t twin : twins) {
    for (const int32_t child : forest_.node(twin).children) {
      if (owners[forest_.node(child).name] == 1) unique.push_back(child);
    }
  }
  for (const int32_t child : unique) MoveBeside(child, main);
}

void PipelineMerger::MergeNodes(int32_t main) {
  std::vector<int32_t> twins;
  for (size_t t = 1; t < trees_.size(); ++t) {
    const int32_t twin = MergeForest::Find(*trees_[t], forest_.node(main).name);
    if (twin == kNoNode) return;
    twins.push_back(twin);
  }
  if (AreParts(main, twins)) {
    forest_.node(main).pipeline_merged = true;
    for (const int32_t twin : twins) MoveBeside(twin, forest_.node(main).parent);
    return;
  }
  MergeNode& node = forest_.node(main);
  const bool input = std::any_of(twins.begin(), twins.end(), [&](int32_t twin) {
    return SideDiffers(node.inputs, {&forest_.node(twin).inputs});
  });
  const bool output = std::any_of(twins.begin(), twins.end(), [&](int32_t twin) {
    return SideDiffers(node.outputs, {&forest_.node(twin).outputs});
  });
  // A wrapper: what comes out at the end of the pipeline.
  const MergeNode& last = forest_.node(twins.back());
  if (!input && output && base::Contains(node.name, kForward)) {
    node.outputs = last.outputs;
  } else if (input && !output && base::Contains(node.name, kBackward)) {
    node.inputs = last.inputs;
  }
  TakeUnique(main, twins);
  const std::vector<int32_t> children = forest_.node(main).children;
  for (const int32_t child : children) {
    if (!IsMarked(child) && forest_.node(child).type == NodeType::kModule) MergeNodes(child);
  }
}

void PipelineMerger::RenameTo(int32_t index, std::string name) {
  MergeForest::Remove(trees_[0], forest_.node(index).name);
  forest_.node(index).name = std::move(name);
  forest_.Put(trees_[0], index);
}

// Gives a marked subtree its names: layers their number, calls their rank.
void PipelineMerger::Rename(int32_t top) {
  std::vector<std::pair<int32_t, std::string>> open = {{top, ""}};
  while (!open.empty()) {
    auto [index, number] = open.back();
    open.pop_back();
    MergeNode& node = forest_.node(index);
    const auto mark = marks_.find(index);
    if (mark != marks_.end()) {
      if (node.type != NodeType::kModule) {
        node.name = WithRank(node.name, std::to_string(mark->second.rank));
      } else if (IsLayer(node)) {
        if (node.pipeline_index >= 0) number = std::to_string(node.pipeline_index);
        if (!number.empty()) node.name = WithLayerNumber(node.name, number);
      }
      marks_.erase(mark);
      forest_.Put(trees_[0], index);
    }
    for (const int32_t child : node.children) open.emplace_back(child, number);
  }
}

void PipelineMerger::SortChildren(int32_t parent, bool forward) {
  std::vector<int32_t> own;
  std::vector<int32_t> added;
  for (const int32_t child : forest_.node(parent).children) {
    (IsMarked(child) ? added : own).push_back(child);
  }
  std::stable_sort(added.begin(), added.end(), [&](int32_t a, int32_t b) {
    const Mark& x = marks_[a];
    const Mark& y = marks_[b];
    const int64_t sign = forward ? 1 : -1;
    return std::pair(sign * x.rank, x.position) < std::pair(sign * y.rank, y.position);
  });
  std::vector<int32_t>& first = forward ? own : added;
  const std::vector<int32_t>& second = forward ? added : own;
  std::vector<int32_t> sorted = std::move(first);
  const std::vector<int32_t> renamed = forward ? second : sorted;
  sorted.insert(sorted.end(), second.begin(), second.end());
  int32_t number = -1;
  const auto count = [&](int32_t child) {
    if (IsLayer(forest_.node(child))) ++number;
    if (IsMarked(child)) forest_.node(child).pipeline_index = number;
  };
  if (forward) {
    std::for_each(sorted.begin(), sorted.end(), count);
  } else {
    std::for_each(sorted.rbegin(), sorted.rend(), count);
  }
  for (const int32_t child : renamed) Rename(child);
  forest_.node(parent).children = std::move(sorted);
}

void PipelineMerger::SortMarked(int32_t top) {
  std::vector<int32_t> open = {top};
  while (!open.empty()) {
    const int32_t index = open.back();
    open.pop_back();
    const MergeNode& node = forest_.node(index);
    if (IsMarked(index) && node.parent != kNoNode) {
      const size_t at = node.name.rfind(".forward");
      SortChildren(node.parent, at != std::string::npos);
    }
    open.insert(open.end(), node.children.begin(), node.children.end());
  }
}

// Where layers stand directly below the root, each rank has its own there.
void PipelineMerger::MergeUniqueAtRoot() {
  const int32_t root = trees_[0]->root;
  std::set<std::string> known;
  bool any_layer = false;
  for (const int32_t child : forest_.node(root).children) {
    known.insert(forest_.node(child).name);
    any_layer = any_layer || IsLayer(forest_.node(child));
  }
  if (!any_layer) return;
  std::vector<int32_t> own = forest_.node(root).children;
  std::vector<int32_t> added;
  for (size_t t = 1; t < trees_.size(); ++t) {
    for (const int32_t child : forest_.node(trees_[t]->root).children) {
      const std::string& name = forest_.node(child).name;
      if (!known.contains(name) && !name.starts_with(kCollectionName)) added.push_back(child);
    }
  }
  for (const int32_t child : added) MoveBeside(child, root);
  std::stable_sort(added.begin(), added.end(), [this](int32_t a, int32_t b) {
    return std::pair(marks_[a].rank, marks_[a].position) <
           std::pair(marks_[b].rank, marks_[b].position);
  });
  int32_t number = -1;
  for (const int32_t child : own) number += IsLayer(forest_.node(child)) ? 1 : 0;
  for (const int32_t child : added) {
    if (IsLayer(forest_.node(child))) forest_.node(child).pipeline_index = ++number;
    Rename(child);
  }
  own.insert(own.end(), added.begin(), added.end());
  forest_.node(root).children = std::move(own);
}

// The output of the last chunk is the output of the model.
void PipelineMerger::TakeChunkData() {
  const std::string last = std::to_string(chunks_ - 1);
  std::vector<int32_t> open;
  for (const int32_t child : forest_.node(trees_[0]->root).children) {
    const std::string_view chunk = ChunkOf(forest_.node(child).name);
    if (chunk == "0" || chunk == last) open.push_back(child);
  }
  std::reverse(open.begin(), open.end());
  while (!open.empty()) {
    const int32_t index = open.back();
    open.pop_back();
    MergeNode& node = forest_.node(index);
    if (IsMergedLayer(index) || node.type != NodeType::kModule) continue;
    open.insert(open.end(), node.children.rbegin(), node.children.rend());
    const int32_t from = MergeForest::Find(*trees_[0], WithChunk(node.name, last));
    if (from == kNoNode) continue;
    if (IsForwardModule(node.name)) {
      node.outputs = forest_.node(from).outputs;
    } else {
      node.inputs = forest_.node(from).inputs;
    }
  }
}

void PipelineMerger::NumberLayers(const std::vector<int32_t>& layers, bool forward) {
  std::vector<int32_t> sequence = layers;
  if (!forward) std::reverse(sequence.begin(), sequence.end());
  int64_t number = -1;
  for (const int32_t index : sequence) {
    const bool layer = IsLayer(forest_.node(index));
    if (layer) ++number;
    const std::string_view chunk = ChunkOf(forest_.node(index).name);
    if (chunk.empty() || chunk == "0") continue;
    std::vector<int32_t> open = {index};
    while (!open.empty()) {
      const int32_t each = open.back();
      open.pop_back();
      const MergeNode& node = forest_.node(each);
      if (each != index && node.type != NodeType::kModule) continue;
      open.insert(open.end(), node.children.rbegin(), node.children.rend());
      std::string name = WithChunk(node.name, "0");
      if (layer) name = WithLayerNumber(name, std::to_string(number));
      RenameTo(each, std::move(name));
    }
  }
}

void PipelineMerger::MoveChunks() {
  std::vector<int32_t> parents;  // of layers, in chunk 0
  std::vector<int32_t> open;
  for (const int32_t child : forest_.node(trees_[0]->root).children) {
    if (ChunkOf(forest_.node(child).name) == "0") open.push_back(child);
  }
  std::reverse(open.begin(), open.end());
  while (!open.empty()) {
    const int32_t index = open.back();
    open.pop_back();
    if (IsMergedLayer(index)) {
      const int32_t parent = forest_.node(index).parent;
      if (std::find(parents.begin(), parents.end(), parent) == parents.end()) {
        parents.push_back(parent);
      }
      continue;
    }
    const std::vector<int32_t>& children = forest_.node(index).children;
    open.insert(open.end(), children.rbegin(), children.rend());
  }
  for (const int32_t parent : parents) {
    const bool forward = IsForwardModule(forest_.node(parent).name);
    for (int64_t chunk = 1; chunk < chunks_; ++chunk) {
      const std::string name = WithChunk(forest_.node(parent).name, std::to_string(chunk));
      const int32_t from = MergeForest::Find(*trees_[0], name);
      if (from == kNoNode || from == parent) continue;
      std::vector<int32_t>& to = forest_.node(parent).children;
      const std::vector<int32_t> moved = forest_.node(from).children;
      to.insert(forward ? to.end() : to.begin(), moved.begin(), moved.end());
      for (const int32_t child : moved) forest_.node(child).parent = parent;
      // The chunk's wrappers go.
      int32_t top = forest_.node(from).parent;
      if (top == kNoNode || forest_.node(top).parent == kNoNode) continue;
      while (forest_.node(forest_.node(top).parent).parent != kNoNode) {
        MergeForest::Remove(trees_[0], forest_.node(top).name);
        top = forest_.node(top).parent;
      }
      MergeForest::Remove(trees_[0], forest_.node(top).name);
      std::erase(forest_.node(trees_[0]->root).children, top);
    }
    NumberLayers(forest_.node(parent).children, forward);
  }
}

void PipelineMerger::Merge(const std::vector<RankTree*>& trees) {
  if (trees.size() < 2) return;
  trees_ = trees;
  const std::vector<int32_t> children = forest_.node(trees[0]->root).children;
  for (const int32_t child : children) {
    const std::string& name = forest_.node(child).name;
    if (forest_.node(child).type != NodeType::kModule || name == "clip_grad" ||
        name == "optimizer") {
      continue;
    }
    MergeNodes(child);
    SortMarked(child);
  }
  MergeUniqueAtRoot();
  if (chunks_ > 1) {
    TakeChunkData();
    MoveChunks();
  }
}

}  // namespace sonde::precision
