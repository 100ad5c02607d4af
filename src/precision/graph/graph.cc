#include "precision/graph/graph.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/strings.h"
#include "precision/graph/recompute.h"

namespace sonde::precision {
namespace {

using base::Concat;

constexpr std::array<std::string_view, 12> kApiPrefixes = {
    "Tensor.",    "Torch.", "Functional.",     "NPU.",      "VF.", "Distributed.", "Aten.", "Mint.",
    "Primitive.", "Jit.",   "MintFunctional.", "MindSpeed."};
constexpr std::string_view kListName = "Apis_Between_Modules";
constexpr size_t kMaxLevels = 1000;
constexpr std::string_view kParametersGradMark = ".parameters_grad";

bool IsBackward(std::string_view name) { return name.find("backward") != std::string_view::npos; }

// The name without its last `count` parts; empty when it has no more.
std::string_view WithoutLastParts(std::string_view name, size_t count) {
  for (; count > 0; --count) {
    const size_t dot = name.rfind('.');
    if (dot == std::string_view::npos) return {};
    name = name.substr(0, dot);
  }
  return name;
}

bool EndsWithNumberBehind(std::string_view name, std::string_view direction) {
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot + 1 == name.size()) return false;
  const std::string_view digits = name.substr(dot + 1);
  return digits.find_first_not_of("0123456789") == std::string_view::npos &&
         name.substr(0, dot).ends_with(direction);
}

// Where ".parameters_grad" or ".parameters_grad.N" begins at the end of the name, else npos.
size_t GradientMark(std::string_view name) {
  const std::string_view plain =
      EndsWithNumberBehind(name, kParametersGradMark) ? WithoutLastParts(name, 1) : name;
  return plain.ends_with(kParametersGradMark) ? plain.size() - kParametersGradMark.size()
                                              : std::string_view::npos;
}

}  // namespace

NodeType NodeTypeOf(std::string_view name) {
  if (name.starts_with(kListName)) return NodeType::kApiList;
  const bool api =
      std::any_of(kApiPrefixes.begin(), kApiPrefixes.end(),
                  [name](std::string_view prefix) { return name.starts_with(prefix); });
  return api ? NodeType::kApi : NodeType::kModule;
}

std::string ForwardName(std::string_view backward_name) {
  const size_t at = backward_name.rfind("backward");
  if (at == std::string_view::npos) return {};
  return Concat(backward_name.substr(0, at), "forward", backward_name.substr(at + 8));
}

std::string BackwardName(std::string_view forward_name) {
  const size_t at = forward_name.rfind("forward");
  if (at == std::string_view::npos) return std::string(forward_name);
  return Concat(forward_name.substr(0, at), "backward", forward_name.substr(at + 7));
}

// Fills a Graph step by step. One use.
class GraphBuilder {
 public:
  GraphBuilder(const DumpFolder& dump, Graph* graph) : dump_(dump), graph_(graph) {}

  Status Build() {
    AddNodes();
    SetParents();
    SONDE_RETURN_IF_ERROR(BreakCircles());
    FillChildren();
    FindStacks();
    MoveRecomputed(dump_, graph_);
    GroupLooseApis();
    AddGradients();
    if (graph_->SetPostOrder() > kMaxLevels) {
      return base::CorruptDataError(
          Concat("construct.json: nested deeper than ", std::to_string(kMaxLevels), " levels"));
    }
    FindData();
    SetMicroSteps();
    return Status::Ok();
  }

 private:
  GraphNode& node(int32_t index) { return graph_->nodes_[static_cast<size_t>(index)]; }
  int32_t Add(std::string_view name) {
    const auto index = static_cast<int32_t>(graph_->nodes_.size());
    GraphNode& added = graph_->nodes_.emplace_back();
    added.name = name;
    added.type = NodeTypeOf(name);
    graph_->index_.emplace(name, index);
    return index;
  }
  const ConstructFile& tree() const { return *dump_.construct; }

  void AddNodes() {
    graph_->nodes_.reserve(tree().entries().size() + 1);
    graph_->index_.reserve(tree().entries().size() + 1);
    Add(kRootName);
    for (const ConstructEntry& entry : tree().entries()) {
      if (graph_->Find(entry.name) == kNoNode) Add(entry.name);
    }
    // A parent that is no entry of its own still holds its children.
    for (const ConstructEntry& entry : tree().entries()) {
      if (!entry.parent.empty() && graph_->Find(entry.parent) == kNoNode) Add(entry.parent);
    }
  }

  // The parent by the forward twin where a backward call has none (lost hooks) or one of another
  // module (modules that work in place).
  void CorrectParent(const ConstructEntry& entry, int32_t* parent) const {
    const bool module = EndsWithNumberBehind(entry.name, ".backward");
    if (!module && !(entry.parent.empty() && entry.name.ends_with(".backward"))) return;
    if (!entry.parent.empty()) {
      const std::string_view own = WithoutLastParts(entry.name, 4);
      const std::string_view of_parent = WithoutLastParts(entry.parent, 3);
      if (own.empty() || of_parent.empty() || own == of_parent) return;
    }
    const ConstructEntry* twin = tree().Find(ForwardName(entry.name));
    if (twin == nullptr) return;
    if (twin->parent.empty()) {
      *parent = graph_->root();
      return;
    }
    const ConstructEntry* found = tree().Find(BackwardName(twin->parent));
    if (found != nullptr) *parent = graph_->Find(found->name);
  }

  void SetParents() {
    for (const ConstructEntry& entry : tree().entries()) {
      int32_t parent = entry.parent.empty() ? graph_->root() : graph_->Find(entry.parent);
      if (IsBackward(entry.name)) CorrectParent(entry, &parent);
      node(graph_->Find(entry.name)).parent = parent;
    }
    for (size_t i = 1; i < graph_->nodes_.size(); ++i) {
      if (graph_->nodes_[i].parent == kNoNode) graph_->nodes_[i].parent = graph_->root();
    }
    node(graph_->root()).parent = kNoNode;
  }

  // Every chain of parents must end at the root.
  Status BreakCircles() {
    std::vector<uint8_t> good(graph_->nodes_.size(), 0);
    good[0] = 1;
    std::vector<int32_t> chain;
    for (size_t i = 1; i < graph_->nodes_.size(); ++i) {
      chain.clear();
      auto at = static_cast<int32_t>(i);
      while (good[static_cast<size_t>(at)] == 0) {
        chain.push_back(at);
        if (chain.size() > graph_->nodes_.size()) {
          return base::CorruptDataError(
              Concat("construct.json: '", node(at).name, "' is its own ancestor"));
        }
        at = node(at).parent;
      }
      for (const int32_t index : chain) good[static_cast<size_t>(index)] = 1;
    }
    return Status::Ok();
  }

  void FillChildren() {
    for (size_t i = 1; i < graph_->nodes_.size(); ++i) {
      node(graph_->nodes_[i].parent).children.push_back(static_cast<int32_t>(i));
    }
  }

  // Gradients of parameters belong to the last backward call of their module, the one with the
  // largest number.
  void AddGradients() {
    std::unordered_map<std::string_view, std::pair<int64_t, int32_t>, base::StringHash> last;
    for (size_t i = 0; i < graph_->nodes_.size(); ++i) {
      const std::string_view name = graph_->nodes_[i].name;
      if (!EndsWithNumberBehind(name, ".backward")) continue;
      const int64_t number = base::ParseInt64(name.substr(name.rfind('.') + 1)).value_or(0);
      auto& best = last[WithoutLastParts(name, 2)];
      if (best.second == 0 || number > best.first) best = {number, static_cast<int32_t>(i)};
    }
    for (const DumpApi& api : dump_.dump->apis()) {
      const size_t mark = GradientMark(api.name);
      if (mark == std::string_view::npos || graph_->Find(api.name) != kNoNode) continue;
      const auto found = last.find(api.name.substr(0, mark));
      if (found == last.end()) continue;
      const int32_t parent = found->second.second;
      const int32_t added = Add(api.name);
      node(added).type = NodeType::kModule;
      node(added).parent = parent;
      node(added).stack = StackFile::kNoStack;
      node(added).micro_step = node(parent).micro_step;
      node(parent).children.push_back(added);
    }
  }

  // Two and more APIs in a row below the root become one collection.
  void GroupLooseApis() {
    const std::vector<int32_t> children = std::exchange(node(graph_->root()).children, {});
    std::vector<int32_t> out;
    int64_t lists = 0;
    for (size_t i = 0; i < children.size();) {
      size_t end = i;
      while (end < children.size() && node(children[end]).type == NodeType::kApi) ++end;
      if (end - i < 2) {
        out.push_back(children[i++]);
        continue;
      }
      const int32_t list = Add(graph_->arena_.Concat({kListName, ".", std::to_string(lists++)}));
      node(list).parent = graph_->root();
      for (; i < end; ++i) {
        node(children[i]).parent = list;
        node(list).children.push_back(children[i]);
      }
      out.push_back(list);
    }
    node(graph_->root()).children = std::move(out);
  }

  void FindData() {
    const auto& apis = dump_.dump->apis();
    for (size_t i = 0; i < apis.size(); ++i) {
      const int32_t index = graph_->Find(apis[i].name);
      if (index != kNoNode) node(index).api = static_cast<int32_t>(i);
    }
  }

  // Backward calls leave no stack of their own: they show where their forward call was made.
  void FindStacks() {
    for (GraphNode& each : graph_->nodes_) {
      each.stack = dump_.stack->Find(each.name);
      const bool module = EndsWithNumberBehind(each.name, ".backward");
      if (each.stack != StackFile::kNoStack || !(module || each.name.ends_with(".backward"))) {
        continue;
      }
      std::string forward = ForwardName(each.name);
      if (module) forward = Concat(WithoutLastParts(forward, 1), ".0");
      each.stack = dump_.stack->Find(forward);
      each.forward_unknown = each.stack == StackFile::kNoStack && graph_->Find(forward) == kNoNode;
    }
  }

  void SetSubtree(int32_t top, int32_t micro_step) {
    std::vector<int32_t> stack = {top};
    while (!stack.empty()) {
      const int32_t index = stack.back();
      stack.pop_back();
      node(index).micro_step = micro_step;
      stack.insert(stack.end(), node(index).children.begin(), node(index).children.end());
    }
  }

  void SetMicroSteps() {
    const int32_t megatron = tree().megatron_micro_step_number();
    if (megatron >= 0) {
      for (GraphNode& each : graph_->nodes_) {
        const ConstructEntry* entry = tree().Find(each.name);
        if (entry != nullptr) {
          each.micro_step = std::max(entry->micro_step, 0);
        } else if (each.parent != kNoNode) {
          each.micro_step = std::max(node(each.parent).micro_step, 0);
        }
      }
      graph_->micro_step_count_ = megatron + 1;
      return;
    }
    int32_t micro_step = 0;
    bool after_backward = false;
    for (const int32_t child : node(graph_->root()).children) {
      const GraphNode& top = node(child);
      if (top.type == NodeType::kModule) {
        const bool forward = top.name.find(".forward.") != std::string_view::npos;
        if (forward && after_backward) ++micro_step;
        after_backward = !forward;
      }
      SetSubtree(child, micro_step);
    }
    graph_->micro_step_count_ = micro_step + 1;
  }

  const DumpFolder& dump_;
  Graph* graph_;
};

// Without recursion: a tree may be as deep as it has nodes.
size_t Graph::SetPostOrder() {
  size_t levels = 0;
  std::vector<std::pair<int32_t, size_t>> stack = {{root(), 0}};
  post_order_.reserve(nodes_.size());
  while (!stack.empty()) {
    auto& [index, next] = stack.back();
    const std::vector<int32_t>& children = node(index).children;
    if (next < children.size()) {
      const int32_t child = children[next++];
      levels = std::max(levels, stack.size());
      stack.emplace_back(child, 0);
    } else {
      post_order_.push_back(index);
      stack.pop_back();
    }
  }
  return levels;
}

void Graph::TakeMicroSteps(const Graph& target, const std::vector<int32_t>& target_of) {
  if (target.dump().construct->megatron_micro_step_number() >= 0 ||
      dump_->construct->megatron_micro_step_number() >= 0) {
    return;
  }
  for (const int32_t child : nodes_[0].children) {
    const int32_t partner = target_of[static_cast<size_t>(child)];
    const std::string_view name = node(child).name;
    const int64_t own = base::ParseInt64(name.substr(name.rfind('.') + 1)).value_or(0);
    const bool matched = partner != kNoNode && target.node(partner).parent == target.root();
    const auto step = matched ? target.node(partner).micro_step : static_cast<int32_t>(own);
    std::vector<int32_t> stack = {child};
    while (!stack.empty()) {
      GraphNode& each = nodes_[static_cast<size_t>(stack.back())];
      stack.pop_back();
      each.micro_step = step;
      stack.insert(stack.end(), each.children.begin(), each.children.end());
    }
  }
}

int32_t Graph::Find(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? kNoNode : found->second;
}

Result<Graph> Graph::Build(const DumpFolder& dump, const std::string& folder) {
  if (dump.construct->entries().empty()) {
    return base::FailedPreconditionError(
        Concat(folder,
               ": construct.json is missing or empty, so there is no module tree; dump with "
               "level L0 or mix"));
  }
  Graph graph;
  graph.dump_ = &dump;
  SONDE_RETURN_IF_ERROR(GraphBuilder(dump, &graph).Build().Annotate(folder));
  return graph;
}

}  // namespace sonde::precision
