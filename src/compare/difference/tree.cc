#include "compare/difference/tree.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "base/strings.h"

namespace sonde::compare {
namespace {

using base::Concat;

struct Node {
  int32_t parent = kNone;
  std::string_view kind;
  std::string name;
  std::string subject;
  Series base;
  Series comparison;
  std::vector<int32_t> children;
  Node(int32_t above, std::string_view what, std::string_view text, std::string_view about)
      : parent(above), kind(what), name(text), subject(about) {}
};

double MeanOfSteps(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

class TreeMaker {
 public:
  TreeMaker(const Works& works, bool is_host) : works_(works), is_host_(is_host) {
    nodes_.emplace_back(kNone, "step", "step", "");
    module_nodes_.assign(works.modules.size(), kNone);
    module_nodes_[0] = 0;
  }

  std::vector<TreeNode> Run() {
    for (const Part& part : works_.parts) Place(part);
    for (Node& node : nodes_) {
      node.base.Resize(works_.base_steps);
      node.comparison.Resize(works_.comparison_steps);
    }
    Write(0, kNone, 0, "");
    return std::move(tree_);
  }

 private:
  int32_t Child(int32_t parent, std::string_view kind, std::string_view name,
                std::string_view subject = "") {
    const auto [place, is_new] =
        places_.try_emplace({parent, kind, std::string(name), std::string(subject)},
                            static_cast<int32_t>(nodes_.size()));
    if (is_new) {
      nodes_.emplace_back(parent, kind, name, subject);
      nodes_[static_cast<size_t>(parent)].children.push_back(place->second);
    }
    return place->second;
  }

  int32_t ModuleNodeOf(int32_t module) {
    int32_t& node = module_nodes_[static_cast<size_t>(module)];
    if (node != kNone) return node;
    const ModuleNode& info = works_.modules[static_cast<size_t>(module)];
    const int32_t parent = ModuleNodeOf(info.parent);
    return module_nodes_[static_cast<size_t>(module)] = Child(parent, "module", info.name);
  }

  void Place(const Part& part) {
    const std::string& op = works_.names.At(part.key.op);
    const std::string& subject = works_.names.At(part.key.subject);
    int32_t node = ModuleNodeOf(part.key.module);
    if (!op.empty()) node = Child(node, "operator", op);
    if (part.key.is_idle) {
      const bool is_specific = !subject.empty() && subject != op && subject != kOfModules;
      node = Child(node, is_host_ ? "host" : "idle", is_specific ? subject : kOutside, subject);
    } else {
      node = Child(node, "kernel", works_.names.At(part.key.kernel), subject);
    }
    for (; node != kNone; node = nodes_[static_cast<size_t>(node)].parent) {
      nodes_[static_cast<size_t>(node)].base.Add(part.base);
      nodes_[static_cast<size_t>(node)].comparison.Add(part.comparison);
    }
  }

  Verdict VerdictOf(const Node& node) const {
    const Spread a = SpreadOf(node.base.calls);
    const Spread b = SpreadOf(node.comparison.calls);
    if (a.mean_ms == 0 && b.mean_ms > 0) return Verdict::kAppeared;
    if (b.mean_ms == 0 && a.mean_ms > 0) return Verdict::kVanished;
    return JudgeStage("", node.base.ms, node.comparison.ms).verdict;
  }

  void Write(int32_t place, int32_t parent, int32_t depth, const std::string& above) {
    Node& node = nodes_[static_cast<size_t>(place)];
    const auto number = static_cast<int32_t>(tree_.size());
    tree_.push_back({.parent = parent,
                     .depth = depth,
                     .kind = node.kind,
                     .name = node.name,
                     .path = depth == 0 ? "" : Concat(above, "/", node.name),
                     .subject = node.subject,
                     .base_ms = MeanOfSteps(node.base.ms),
                     .comparison_ms = MeanOfSteps(node.comparison.ms),
                     .base_calls = MeanOfSteps(node.base.calls),
                     .comparison_calls = MeanOfSteps(node.comparison.calls),
                     .verdict = VerdictOf(node)});
    const std::string path = tree_.back().path;
    const auto difference = [this](int32_t child) {
      const Node& one = nodes_[static_cast<size_t>(child)];
      return std::abs(MeanOfSteps(one.comparison.ms) - MeanOfSteps(one.base.ms));
    };
    std::vector<std::pair<double, int32_t>> order;
    for (const int32_t child : node.children) order.emplace_back(-difference(child), child);
    std::sort(order.begin(), order.end());
    for (const auto& [less, child] : order) Write(child, number, depth + 1, path);
  }

  static constexpr std::string_view kOutside = "between operators";
  const Works& works_;
  const bool is_host_;
  std::vector<Node> nodes_;
  std::vector<int32_t> module_nodes_;
  std::map<std::tuple<int32_t, std::string_view, std::string, std::string>, int32_t> places_;
  std::vector<TreeNode> tree_;
};

}  // namespace

std::vector<TreeNode> MakeTree(const Works& works, bool is_host) {
  return TreeMaker(works, is_host).Run();
}

}  // namespace sonde::compare
