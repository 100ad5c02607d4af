#include "precision/kernels/gradient_graph.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/strings.h"
#include "precision/kernels/run_values.h"

namespace sonde::precision {
namespace {

constexpr std::string_view kGradientScope = "Gradients/";
constexpr std::string_view kExpandScope = "Expand/";
constexpr std::string_view kParameterMark = "%para";

// Arguments of a call, split at the commas that no bracket or quote encloses.
std::vector<std::string_view> SplitArguments(std::string_view text) {
  std::vector<std::string_view> out;
  int depth = 0;
  char quote = '\0';
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != '\0') {
      if (c == quote) quote = '\0';
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '(' || c == '[' || c == '{') {
      ++depth;
    } else if (c == ')' || c == ']' || c == '}') {
      --depth;
    } else if (c == ',' && depth == 0) {
      out.push_back(base::Trim(text.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  if (begin < text.size()) out.push_back(base::Trim(text.substr(begin)));
  return out;
}

// "%5" or "%para3_head.weight" that begins at `at`.
std::string_view ReferenceAt(std::string_view text, size_t at) {
  const size_t end = text.find_first_of(",() []{}\"'", at);
  return text.substr(at, end == std::string_view::npos ? end : end - at);
}

// "%para3_head.weight" -> "head.weight".
std::string ParameterName(std::string_view reference) {
  const size_t line = reference.find('_');
  return std::string(line == std::string_view::npos ? reference : reference.substr(line + 1));
}

// "<Ref[Tensor[Float32]], (64, 32), ref_key=...>" -> 2048; -1: no shape.
int64_t ElementsOfType(std::string_view type) {
  const size_t open = type.find(", (");
  const size_t close = open == std::string_view::npos ? open : type.find(')', open);
  if (close == std::string_view::npos) return -1;
  int64_t out = 1;
  for (const std::string_view part : base::Split(type.substr(open + 3, close - open - 3), ',')) {
    if (base::Trim(part).empty()) continue;
    const auto length = base::ParseInt64(base::Trim(part));
    if (!length || *length < 0) return -1;
    out *= *length;
  }
  return out;
}

// "_MatMulExt" -> "matmulext".
std::string OperatorWord(std::string_view name) {
  std::string out = base::ToLower(name);
  std::erase(out, '_');
  return out;
}

std::string ExpandedOf(std::string_view scope) {
  if (!scope.starts_with(kExpandScope)) return {};
  scope.remove_prefix(kExpandScope.size());
  return OperatorWord(scope.substr(0, scope.find('/')));
}

class GraphReader {
 public:
  explicit GraphReader(const IrFile& file) {
    for (const IrParameter& parameter : file.parameters) {
      elements_[ParameterName(parameter.name)] = ElementsOfType(parameter.type);
    }
    for (const IrNode& node : file.nodes) Take(node);
    for (size_t i = 0; i < out_.size(); ++i) {
      for (const NodeArgument& argument : out_[i].arguments) {
        std::vector<size_t>& users = out_[argument.value.node].users;
        if (users.empty() || users.back() != i) users.push_back(i);
      }
    }
  }

  GradientGraph TakeGraph() { return std::move(out_); }
  const std::vector<std::string>& scopes() const { return scopes_; }

 private:
  void Take(const IrNode& node) {
    std::vector<NodeArgument> arguments = ArgumentsOf(node.inputs);
    if (node.op == "UpdateState" || node.op == "Return") return;
    if (node.op == "Load" || node.op == "Depend") {
      if (!arguments.empty()) passed_on_[node.id] = {arguments.front().value};
    } else if (node.op == "MakeTuple") {
      for (const NodeArgument& each : arguments) passed_on_[node.id].push_back(each.value);
    } else if (node.op == "TupleGetItem") {
      TakeItem(node, arguments);
    } else {
      Add(node, std::move(arguments));
    }
  }

  // TupleGetItem(%5, I64(1))
  void TakeItem(const IrNode& node, const std::vector<NodeArgument>& arguments) {
    const size_t open = node.inputs.rfind('(');
    const size_t close = node.inputs.rfind(')');
    if (open == std::string::npos || close == std::string::npos || close < open) return;
    const auto slot = base::ParseInt64(node.inputs.substr(open + 1, close - open - 1));
    if (!slot || *slot < 0 || arguments.empty()) return;
    if (arguments.size() == 1) {
      passed_on_[node.id] = {{arguments.front().value.node, *slot}};
    } else if (static_cast<size_t>(*slot) < arguments.size()) {
      passed_on_[node.id] = {arguments[static_cast<size_t>(*slot)].value};
    }
  }

  void Add(const IrNode& node, std::vector<NodeArgument> arguments) {
    KernelNode added;
    added.op = node.op;
    added.expanded = ExpandedOf(node.scope);
    added.unique_id = node.unique_id;
    added.forward_id = node.forward_id;
    added.forward_op = OperatorWord(node.forward_op);
    added.is_gradient = node.scope.starts_with(kGradientScope) || !node.forward_id.empty();
    for (const NodeArgument& each : arguments) {
      added.is_gradient |= !added.expanded.empty() && out_[each.value.node].is_gradient;
    }
    added.arguments = std::move(arguments);
    passed_on_[node.id] = {{out_.size(), 0}};
    out_.push_back(std::move(added));
    scopes_.resize(out_.size());
    scopes_.back() = node.scope;
  }

  std::vector<NodeArgument> ArgumentsOf(std::string_view inputs) {
    std::vector<NodeArgument> out;
    const std::vector<std::string_view> parts = SplitArguments(inputs);
    for (size_t i = 0; i < parts.size(); ++i) {
      for (size_t at = parts[i].find('%'); at != std::string_view::npos;
           at = parts[i].find('%', at + 1)) {
        const std::string_view reference = ReferenceAt(parts[i], at);
        const std::vector<NodeValue> values = ValuesOf(reference);
        const bool is_alone = reference.size() == parts[i].size() && values.size() == 1;
        for (const NodeValue& value : values) {
          out.push_back({value, is_alone ? static_cast<int64_t>(i) : -1});
        }
      }
    }
    return out;
  }

  std::vector<NodeValue> ValuesOf(std::string_view reference) {
    const std::string id(reference);
    if (!reference.starts_with(kParameterMark)) {
      const auto found = passed_on_.find(id);
      return found == passed_on_.end() ? std::vector<NodeValue>() : found->second;
    }
    const auto [found, is_new] = passed_on_.try_emplace(id);
    if (is_new) {
      KernelNode& added = out_.emplace_back();
      added.parameter = ParameterName(reference);
      const auto elements = elements_.find(added.parameter);
      if (elements != elements_.end()) added.elements = elements->second;
      found->second = {{out_.size() - 1, 0}};
      scopes_.resize(out_.size());
    }
    return found->second;
  }

  GradientGraph out_;
  std::vector<std::string> scopes_;                                    // of each node
  std::unordered_map<std::string, std::vector<NodeValue>> passed_on_;  // by "%5"
  std::unordered_map<std::string, int64_t> elements_;
};

// "…/AddN-op3" -> "…/AddN-op" and 3.
std::pair<std::string, int64_t> SplitNumber(const std::string& scope) {
  const size_t digits = scope.find_last_not_of("0123456789") + 1;
  return {scope.substr(0, digits), base::ParseInt64(scope.substr(digits)).value_or(-1)};
}

// MindSpore gives some kernels other numbers when it has written the graph, in the same order.
class KernelFinder {
 public:
  KernelFinder(const KernelFlow& flow, const std::vector<std::string>& scopes) {
    for (const KernelCall& call : flow.calls) by_scope_[call.scope].push_back(&call);
    std::map<std::string, std::set<int64_t>> lone_kernels;
    std::map<std::string, std::set<int64_t>> lone_nodes;
    const std::set<std::string> known(scopes.begin(), scopes.end());
    for (const auto& [scope, calls] : by_scope_) {
      const auto [name, number] = SplitNumber(scope);
      if (!known.contains(scope)) lone_kernels[name].insert(number);
      if (calls.size() == 1) alike_[name].push_back(calls.front());
    }
    for (const std::string& scope : known) {
      const auto [name, number] = SplitNumber(scope);
      if (!scope.empty() && !by_scope_.contains(scope)) lone_nodes[name].insert(number);
    }
    for (const auto& [name, numbers] : lone_nodes) {
      const std::set<int64_t>& others = lone_kernels[name];
      if (others.size() != numbers.size()) continue;
      auto other = others.begin();
      for (const int64_t number : numbers) {
        renumbered_[base::Concat(name, std::to_string(number))] =
            base::Concat(name, std::to_string(*other++));
      }
    }
  }

  // Kernels of the same name with any number, each of which ran once.
  std::vector<const KernelCall*> Alike(const std::string& scope) const {
    const auto found = alike_.find(SplitNumber(scope).first);
    return found == alike_.end() ? std::vector<const KernelCall*>() : found->second;
  }

  // Null: none, or one that ran more than once.
  const KernelCall* Find(const std::string& scope) const {
    const auto other = renumbered_.find(scope);
    const auto found = by_scope_.find(other == renumbered_.end() ? scope : other->second);
    return found == by_scope_.end() || found->second.size() != 1 ? nullptr : found->second.front();
  }

 private:
  std::unordered_map<std::string, std::vector<const KernelCall*>> by_scope_;
  std::unordered_map<std::string, std::vector<const KernelCall*>> alike_;
  std::unordered_map<std::string, std::string> renumbered_;
};

// Whether tensors of kernels are one value, with a number for each value.
class SameValues {
 public:
  explicit SameValues(const KernelFlow& flow) {
    std::unordered_map<std::string, size_t> numbers;
    for (const KernelCall& call : flow.calls) {
      for (const KernelTensor& tensor : call.tensors) {
        numbers_[&tensor] = numbers.emplace(KeyOfValue(tensor), numbers.size()).first->second;
      }
    }
  }
  bool Are(const KernelTensor& a, const KernelTensor& b) const {
    return numbers_.at(&a) == numbers_.at(&b);
  }
  // Whether two kernels take and give the same, so that either may stand for the other.
  bool AreOf(const KernelCall& a, const KernelCall& b) const {
    return std::equal(a.tensors.begin(), a.tensors.end(), b.tensors.begin(), b.tensors.end(),
                      [this](const KernelTensor& x, const KernelTensor& y) {
                        return x.is_output == y.is_output && x.slot == y.slot && Are(x, y);
                      });
  }

 private:
  std::unordered_map<const KernelTensor*, size_t> numbers_;
};

// Kernels that the compiler expanded have other numbers in the graph, in no order: of those alike
// each node gets the only one, or one of several equal ones, that takes and gives what its
// neighbours give and take.
class ExpandedKernels {
 public:
  ExpandedKernels(const KernelFinder& finder, const std::vector<std::string>& scopes,
                  const SameValues& values, GradientGraph* graph)
      : values_(values), graph_(*graph) {
    for (size_t i = 0; i < graph->size(); ++i) {
      if (graph_[i].expanded.empty()) continue;
      std::vector<const KernelCall*> alike = finder.Alike(scopes[i]);
      if (alike.size() < 2) continue;
      graph_[i].kernel = nullptr;
      open_[i] = std::move(alike);
    }
  }

  void Assign() {
    for (bool changed = true; changed;) {
      changed = false;
      for (auto open = open_.begin(); open != open_.end();) {
        changed |= AssignOne(open->first, open->second);
        open = graph_[open->first].kernel == nullptr ? std::next(open) : open_.erase(open);
      }
    }
  }

 private:
  bool AssignOne(size_t node, const std::vector<const KernelCall*>& alike) {
    const KernelCall* found = nullptr;
    for (const KernelCall* kernel : alike) {
      if (taken_.contains(kernel)) continue;
      graph_[node].kernel = kernel;
      const bool fits = Fits(node);
      graph_[node].kernel = nullptr;
      if (!fits || (found != nullptr && values_.AreOf(*found, *kernel))) continue;
      if (found != nullptr) return false;
      found = kernel;
    }
    graph_[node].kernel = found;
    if (found != nullptr) taken_.insert(found);
    return found != nullptr;
  }

  // Whether the values at all edges with known ends are the same, and there is such an edge.
  bool Fits(size_t node) const {
    size_t same = 0;
    size_t others = 0;
    const auto count = [&](size_t taker, const NodeArgument& argument) {
      const KernelTensor* given = OutputOf(graph_, argument.value);
      const KernelTensor* taken = InputOf(graph_[taker], argument);
      if (given == nullptr || taken == nullptr) return;
      ++(values_.Are(*given, *taken) ? same : others);
    };
    for (const NodeArgument& argument : graph_[node].arguments) count(node, argument);
    for (const size_t user : graph_[node].users) {
      for (const NodeArgument& argument : graph_[user].arguments) {
        if (argument.value.node == node) count(user, argument);
      }
    }
    return same > 0 && others == 0;
  }

  const SameValues& values_;
  GradientGraph& graph_;
  std::map<size_t, std::vector<const KernelCall*>> open_;
  std::set<const KernelCall*> taken_;
};

void DropWrongKernels(const SameValues& values, GradientGraph* graph) {
  std::set<size_t> wrong;
  for (size_t i = 0; i < graph->size(); ++i) {
    for (const NodeArgument& argument : (*graph)[i].arguments) {
      const KernelTensor* given = OutputOf(*graph, argument.value);
      const KernelTensor* taken = InputOf((*graph)[i], argument);
      if (given == nullptr || taken == nullptr || values.Are(*given, *taken)) continue;
      wrong.insert({i, argument.value.node});
    }
  }
  for (const size_t node : wrong) (*graph)[node].kernel = nullptr;
}

}  // namespace

GradientGraph ReadGradientGraph(const IrFile& file, const KernelFlow& flow) {
  if (file.graphs.size() != 1) return {};
  GraphReader reader(file);
  const KernelFinder finder(flow, reader.scopes());
  GradientGraph out = reader.TakeGraph();
  for (size_t i = 0; i < out.size(); ++i) {
    if (!out[i].IsParameter()) out[i].kernel = finder.Find(reader.scopes()[i]);
  }
  const SameValues values(flow);
  ExpandedKernels(finder, reader.scopes(), values, &out).Assign();
  DropWrongKernels(values, &out);
  return out;
}

Result<std::vector<GradientGraph>> ReadGradientGraphs(const KernelFlow& flow) {
  std::vector<GradientGraph> out;
  for (const std::string& path : flow.graphs) {
    SONDE_ASSIGN_OR_RETURN(const IrFile file, ReadIrFile(path));
    out.push_back(ReadGradientGraph(file, flow));
  }
  return out;
}

std::vector<const KernelCall*> CallsInGraphOrder(const KernelFlow& flow,
                                                 const std::vector<GradientGraph>& graphs) {
  std::unordered_map<const KernelCall*, size_t> places;
  for (const GradientGraph& graph : graphs) {
    for (const KernelNode& node : graph) {
      if (node.kernel != nullptr) places.emplace(node.kernel, places.size());
    }
  }
  std::vector<std::pair<size_t, const KernelCall*>> calls;
  size_t place = 0;
  for (const KernelCall& call : flow.calls) {
    const auto found = places.find(&call);
    if (found != places.end()) place = found->second;
    calls.emplace_back(place, &call);
  }
  std::stable_sort(calls.begin(), calls.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<const KernelCall*> out;
  for (const auto& [at, call] : calls) out.push_back(call);
  return out;
}

const KernelTensor* OutputOf(const GradientGraph& graph, const NodeValue& value) {
  const KernelCall* kernel = graph[value.node].kernel;
  if (kernel == nullptr) return nullptr;
  for (const KernelTensor& tensor : kernel->tensors) {
    if (tensor.is_output && tensor.slot == value.slot) return &tensor;
  }
  return nullptr;
}

const KernelTensor* InputOf(const KernelNode& node, const NodeArgument& argument) {
  if (node.kernel == nullptr || argument.place < 0) return nullptr;
  for (const KernelTensor& tensor : node.kernel->tensors) {
    if (!tensor.is_output && tensor.slot == argument.place) return &tensor;
  }
  return nullptr;
}

bool TakesGradients(const GradientGraph& graph, size_t node) {
  return std::any_of(graph[node].arguments.begin(), graph[node].arguments.end(),
                     [&](const auto& each) { return graph[each.value.node].is_gradient; });
}

std::vector<size_t> ForwardUsers(const GradientGraph& graph, size_t node) {
  std::vector<size_t> out;
  for (const size_t user : graph[node].users) {
    if (!graph[user].is_gradient && !TakesGradients(graph, user)) out.push_back(user);
  }
  return out;
}

}  // namespace sonde::precision
