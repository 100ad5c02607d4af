#include "precision/kernels/gradient_regions.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

#include "base/strings.h"
#include "precision/compare/rules.h"
#include "precision/kernels/run_values.h"

namespace sonde::precision {
namespace {

constexpr std::string_view kById = "#";        // "#38934": of the call with that id
constexpr std::string_view kByOperator = "~";  // "~softmax": of some call of that operator
constexpr std::string_view kGradientWords[] = {"backward", "grad"};

// What a gradient is of, see kById and kByOperator; empty: unknown. `names`: of those before it.
std::string RegionName(const GradientGraph& graph, size_t index,
                       const std::vector<std::string>& names) {
  const KernelNode& node = graph[index];
  if (!node.forward_id.empty()) return base::Concat(kById, node.forward_id);
  if (!node.is_gradient || node.expanded.empty()) return {};
  // What prepares a value of the forward pass for the gradient of its operator ...
  for (const NodeArgument& argument : node.arguments) {
    const size_t other = argument.value.node;
    const bool prepares = graph[other].forward_op == node.expanded && !TakesGradients(graph, other);
    if (prepares && !names[other].empty()) return names[other];
  }
  // ... and what the operator of the same gradient was expanded to before.
  for (const NodeArgument& argument : node.arguments) {
    const size_t other = argument.value.node;
    if (graph[other].expanded == node.expanded && !names[other].empty()) return names[other];
  }
  // The sum over what was broadcast.
  if (node.op == "ReduceSum" && node.arguments.size() == 1) {
    return names[node.arguments.front().value.node];
  }
  for (const std::string_view word : kGradientWords) {
    if (node.expanded.ends_with(word)) {
      return base::Concat(kByOperator, node.expanded.substr(0, node.expanded.size() - word.size()));
    }
  }
  return {};
}

std::vector<std::string> RegionNames(const GradientGraph& graph) {
  std::vector<std::string> names(graph.size());
  for (size_t i = 0; i < graph.size(); ++i) names[i] = RegionName(graph, i, names);
  return names;
}

// Sets of nodes of one name that take each other's values, or the same gradient.
std::vector<std::set<size_t>> ConnectedNodes(const GradientGraph& graph,
                                             const std::vector<std::string>& names) {
  std::vector<size_t> parents(graph.size());
  std::iota(parents.begin(), parents.end(), 0);
  const auto root = [&parents](size_t node) {
    while (parents[node] != node) node = parents[node];
    return node;
  };
  std::map<std::pair<std::string, NodeValue>, size_t> first_taker;
  for (size_t i = 0; i < graph.size(); ++i) {
    if (names[i].empty()) continue;
    for (const NodeArgument& argument : graph[i].arguments) {
      const size_t other = argument.value.node;
      if (names[other] == names[i]) {
        parents[root(i)] = root(other);
      } else if (graph[other].is_gradient) {
        const auto taker = first_taker.try_emplace({names[i], argument.value}, i).first;
        parents[root(i)] = root(taker->second);
      }
    }
  }
  std::map<size_t, std::set<size_t>> out;
  for (size_t i = 0; i < graph.size(); ++i) {
    if (!names[i].empty()) out[root(i)].insert(i);
  }
  std::vector<std::set<size_t>> sets;
  for (auto& [node, set] : out) sets.push_back(std::move(set));
  return sets;
}

// One kernel is the whole call: what is next to it is not of the same.
bool IsWholeCall(const GradientGraph& graph, size_t index) {
  const KernelNode& node = graph[index];
  const auto is_part = [&](size_t other) {
    return (!node.unique_id.empty() && graph[other].unique_id == node.unique_id) ||
           (!node.expanded.empty() && graph[other].expanded == node.expanded &&
            !graph[other].is_gradient);
  };
  return std::none_of(node.users.begin(), node.users.end(), is_part) &&
         std::none_of(node.arguments.begin(), node.arguments.end(),
                      [&](const auto& each) { return is_part(each.value.node); });
}

class RegionFinder {
 public:
  explicit RegionFinder(const GradientGraph& graph) : graph_(graph), names_(RegionNames(graph)) {
    for (size_t i = 0; i < graph.size(); ++i) {
      const KernelNode& node = graph[i];
      if (node.is_gradient || node.IsParameter()) continue;
      if (!node.unique_id.empty()) by_id_[node.unique_id].push_back(i);
      const std::string& word = node.expanded.empty() ? base::ToLower(node.op) : node.expanded;
      by_operator_[word].push_back(i);
    }
  }

  std::vector<GradientRegion> Find() const {
    std::vector<GradientRegion> out;
    for (std::set<size_t>& nodes : ConnectedNodes(graph_, names_)) {
      GradientRegion region;
      region.nodes = std::move(nodes);
      if (Complete(&region)) out.push_back(std::move(region));
    }
    return out;
  }

 private:
  // False: it is not certain what it is of.
  bool Complete(GradientRegion* region) const {
    std::set<NodeValue> gradients;
    std::set<size_t> taken;  // of the forward pass
    for (const size_t node : region->nodes) {
      for (const NodeArgument& argument : graph_[node].arguments) {
        const size_t other = argument.value.node;
        if (region->nodes.contains(other)) continue;
        if (graph_[other].is_gradient) {
          gradients.insert(argument.value);
        } else {
          taken.insert(other);
        }
      }
      const std::vector<size_t>& users = graph_[node].users;
      // What none takes is what the graph returns.
      if (users.empty() || std::any_of(users.begin(), users.end(), [&](size_t user) {
            return !region->nodes.contains(user);
          })) {
        region->results.push_back(node);
      }
    }
    if (gradients.size() != 1) return false;
    region->of_output = *gradients.begin();
    std::vector<size_t> found;
    for (const size_t node : Candidates(*region->nodes.begin())) {
      if (Has(node, taken) && IsWholeCall(graph_, node)) found.push_back(node);
    }
    if (found.size() != 1) return false;
    region->forward = found.front();
    return HasSizeOf(region->of_output, region->forward);
  }

  std::vector<size_t> Candidates(size_t member) const {
    const std::string& name = names_[member];
    if (name.starts_with(kByOperator)) return OfOperator(name.substr(1));
    const auto found = by_id_.find(name.substr(1));
    if (found != by_id_.end()) return found->second;
    return OfOperator(graph_[member].forward_op);
  }

  std::vector<size_t> OfOperator(const std::string& word) const {
    const auto found = by_operator_.find(word);
    return found == by_operator_.end() ? std::vector<size_t>() : found->second;
  }

  // Whether all of `taken` go into the node or come out of it.
  bool Has(size_t node, const std::set<size_t>& taken) const {
    const auto& arguments = graph_[node].arguments;
    return std::all_of(taken.begin(), taken.end(), [&](size_t each) {
      return each == node || std::any_of(arguments.begin(), arguments.end(),
                                         [each](const auto& a) { return a.value.node == each; });
    });
  }

  // Whether the gradient is as large as the node's only output of that size.
  bool HasSizeOf(const NodeValue& gradient, size_t node) const {
    const KernelTensor* given = OutputOf(graph_, gradient);
    const KernelTensor* first = OutputOf(graph_, {node, 0});
    if (given == nullptr || first == nullptr) return false;
    const auto fits = [given](const KernelTensor& tensor) {
      return tensor.is_output && CountElements(tensor.shape) == CountElements(given->shape) &&
             DtypeFamily(tensor.dtype) == DtypeFamily(given->dtype);
    };
    const auto& tensors = graph_[node].kernel->tensors;
    return fits(*first) && std::count_if(tensors.begin(), tensors.end(), fits) == 1;
  }

  const GradientGraph& graph_;
  const std::vector<std::string> names_;
  std::map<std::string, std::vector<size_t>> by_id_;
  std::map<std::string, std::vector<size_t>> by_operator_;
};

}  // namespace

std::vector<GradientRegion> FindGradientRegions(const GradientGraph& graph) {
  return RegionFinder(graph).Find();
}

bool IsUnknownPart(const GradientGraph& graph, size_t node) {
  const KernelNode& each = graph[node];
  if (each.expanded.empty()) return false;
  // A sum over what was broadcast ends the gradient that it sums up.
  return each.op != "ReduceSum" || each.arguments.size() != 1 ||
         graph[each.arguments.front().value.node].forward_id.empty();
}

}  // namespace sonde::precision
