#include "precision/kernels/gradient_roles.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/strings.h"
#include "precision/kernels/gradient_regions.h"

namespace sonde::precision {
namespace {

using base::Concat;

constexpr std::string_view kBackwardMark = ".backward";
// Of products the gradient of one factor takes the others.
constexpr std::string_view kProducts[] = {"mul", "dense", "linear", "conv"};

std::string WholeRole(size_t value) { return Concat("whole ", std::to_string(value)); }

std::string PartRole(size_t value, size_t input, std::vector<size_t> inputs) {
  std::sort(inputs.begin(), inputs.end());
  std::string out = Concat("part ", std::to_string(value), " ", std::to_string(input), " of");
  for (const size_t each : inputs) out += Concat(" ", std::to_string(each));
  return out;
}

std::string ParameterRole(std::string_view name) { return Concat("parameter ", name); }

// The roles of gradients among the kernels.
class KernelRoles {
 public:
  KernelRoles(const GradientGraph& graph, const RunValues& kernels, GradientRoles* roles)
      : graph_(graph), regions_(FindGradientRegions(graph)), roles_(roles) {
    for (size_t i = 0; i < kernels.values.size(); ++i) {
      for (const KernelTensor* tensor : kernels.values[i].tensors) values_[tensor] = i;
    }
    for (size_t i = 0; i < graph.size(); ++i) {
      if (const auto value = ValueOf(OutputOf(graph, {i, 0}))) nodes_[*value].push_back(i);
    }
    for (const GradientRegion& region : regions_) {
      gradients_[region.forward].insert(KeyOfValue(*OutputOf(graph, region.of_output)));
    }
  }

  void AddAll() {
    for (const GradientRegion& region : regions_) {
      AddWhole(region);
      AddParts(region);
    }
    for (size_t i = 0; i < graph_.size(); ++i) AddOptimized(i);
  }

 private:
  std::optional<size_t> ValueOf(const KernelTensor* tensor) const {
    const auto found = values_.find(tensor);
    return found == values_.end() ? std::nullopt : std::optional(found->second);
  }

  // The gradient of all nodes with that value is one, where each has it or only passes it on.
  void AddWhole(const GradientRegion& region) {
    const auto value = ValueOf(OutputOf(graph_, {region.forward, 0}));
    if (!value) return;
    const std::string gradient = KeyOfValue(*OutputOf(graph_, region.of_output));
    for (const size_t node : nodes_[*value]) {
      const auto known = gradients_.find(node);
      if (known != gradients_.end()) {
        if (known->second.size() != 1 || *known->second.begin() != gradient) return;
        continue;
      }
      const std::vector<size_t> users = ForwardUsers(graph_, node);
      if (users.size() != 1 || ValueOf(OutputOf(graph_, {users[0], 0})) != value) return;
    }
    (*roles_)[WholeRole(*value)].insert(gradient);
  }

  int64_t ElementsOf(const NodeValue& value) const {
    if (graph_[value.node].IsParameter()) return graph_[value.node].elements;
    const KernelTensor* tensor = OutputOf(graph_, value);
    return tensor == nullptr ? -1 : CountElements(tensor->shape);
  }

  // The nodes of the forward pass from which a result of the region is computed, within it.
  std::set<size_t> TakenBy(const GradientRegion& region, size_t result) const {
    std::set<size_t> seen = {result};
    std::set<size_t> out;
    for (std::vector<size_t> open = {result}; !open.empty();) {
      const size_t node = open.back();
      open.pop_back();
      for (const NodeArgument& argument : graph_[node].arguments) {
        const size_t other = argument.value.node;
        if (!graph_[other].is_gradient) out.insert(other);
        if (region.nodes.contains(other) && seen.insert(other).second) open.push_back(other);
      }
    }
    return out;
  }

  bool IsProduct(size_t node) const {
    const std::string op =
        graph_[node].expanded.empty() ? base::ToLower(graph_[node].op) : graph_[node].expanded;
    return std::any_of(std::begin(kProducts), std::end(kProducts),
                       [&op](std::string_view word) { return base::Contains(op, word); });
  }

  // The input of the forward node whose gradient a result is a part of.
  std::optional<NodeValue> InputFor(const GradientRegion& region, size_t result) const {
    const KernelTensor* tensor = OutputOf(graph_, {result, 0});
    if (tensor == nullptr) return std::nullopt;
    const int64_t elements = CountElements(tensor->shape);
    std::set<NodeValue> inputs;
    for (const NodeArgument& argument : graph_[region.forward].arguments) {
      const int64_t count = ElementsOf(argument.value);
      if (count < 0) return std::nullopt;
      if (count == elements) inputs.insert(argument.value);
    }
    const auto rivals =
        std::count_if(region.results.begin(), region.results.end(),
                      [&](size_t each) { return ElementsOf({each, 0}) == elements; });
    if (inputs.size() == 1 && rivals == 1) return *inputs.begin();
    if (inputs.size() != 2 || rivals > 2 || !IsProduct(region.forward)) return std::nullopt;
    const std::set<size_t> taken = TakenBy(region, result);
    const NodeValue& first = *inputs.begin();
    const NodeValue& second = *inputs.rbegin();
    if (taken.contains(first.node) == taken.contains(second.node)) return std::nullopt;
    return taken.contains(first.node) ? second : first;
  }

  void AddParts(const GradientRegion& region) {
    const auto value = ValueOf(OutputOf(graph_, {region.forward, 0}));
    const KernelNode& forward = graph_[region.forward];
    std::map<NodeValue, size_t> values;
    std::vector<size_t> inputs;
    for (const NodeArgument& argument : forward.arguments) {
      const auto input = ValueOf(InputOf(forward, argument));
      if (!input) return;
      values[argument.value] = *input;
      inputs.push_back(*input);
    }
    for (const size_t result : region.results) {
      const auto input = InputFor(region, result);
      if (!input) continue;
      const std::string gradient = KeyOfValue(*OutputOf(graph_, {result, 0}));
      if (value) (*roles_)[PartRole(*value, values[*input], inputs)].insert(gradient);
      const KernelNode& of = graph_[input->node];
      if (of.IsParameter() && ForwardUsers(graph_, input->node).size() == 1) {
        (*roles_)[ParameterRole(of.parameter)].insert(gradient);
      }
    }
  }

  // What an optimizer takes beside a parameter, of the same size.
  void AddOptimized(size_t index) {
    if (graph_[index].is_gradient) return;
    for (const NodeArgument& parameter : graph_[index].arguments) {
      const KernelNode& of = graph_[parameter.value.node];
      if (!of.IsParameter() || ForwardUsers(graph_, parameter.value.node).empty()) continue;
      for (const NodeArgument& argument : graph_[index].arguments) {
        const size_t node = argument.value.node;
        if (!graph_[node].is_gradient || IsUnknownPart(graph_, node)) continue;
        const KernelTensor* tensor = OutputOf(graph_, argument.value);
        if (tensor == nullptr || CountElements(tensor->shape) != of.elements) continue;
        (*roles_)[ParameterRole(of.parameter)].insert(KeyOfValue(*tensor));
      }
    }
  }

  const GradientGraph& graph_;
  const std::vector<GradientRegion> regions_;
  GradientRoles* roles_;
  std::unordered_map<const KernelTensor*, size_t> values_;
  std::map<size_t, std::vector<size_t>> nodes_;        // that give a value
  std::map<size_t, std::set<std::string>> gradients_;  // of nodes
};

// The roles of gradients in a dump of calls.
class CallRoles {
 public:
  CallRoles(const DumpFile& dump, const RunValues& values, const std::vector<int64_t>& partners)
      : dump_(dump) {
    for (size_t d = 0; d < values.values.size(); ++d) {
      for (const uint32_t row : values.values[d].rows) partners_[row] = partners[d];
    }
    for (const DumpApi& api : dump.apis()) calls_[api.name] = &api;
  }

  GradientRoles Find(const ParameterTensors& parameters) {
    for (const DumpApi& api : dump_.apis()) {
      const size_t at = api.name.find(kBackwardMark);
      for (uint32_t i = api.first_row; i < api.first_row + api.row_count; ++i) {
        const DumpRow& row = dump_.rows()[i];
        if (row.section != Section::kParametersGrad || !IsGradient(row, api.name)) continue;
        const std::string name = KernelParameter(NameOfParameter(row, api.name), parameters);
        if (!name.empty()) roles_[ParameterRole(name)].insert(KeyOfValue(row));
      }
      if (at == std::string_view::npos) continue;
      const auto forward = calls_.find(
          Concat(api.name.substr(0, at), ".forward", api.name.substr(at + kBackwardMark.size())));
      if (forward != calls_.end()) AddCall(api, *forward->second);
    }
    return std::move(roles_);
  }

 private:
  // Tensors of one side of a call.
  std::vector<uint32_t> TensorsOf(const DumpApi& api, Section section) const {
    std::vector<uint32_t> out;
    for (uint32_t i = api.first_row; i < api.first_row + api.row_count; ++i) {
      const DumpRow& row = dump_.rows()[i];
      if (row.kind == LeafKind::kTensor && row.section == section) out.push_back(i);
    }
    return out;
  }

  int64_t PartnerOf(uint32_t row) const {
    const auto found = partners_.find(row);
    return found == partners_.end() ? -1 : found->second;
  }

  void AddCall(const DumpApi& api, const DumpApi& forward) {
    const std::vector<uint32_t> outputs = TensorsOf(forward, Section::kOutput);
    for (const uint32_t i : TensorsOf(api, Section::kInput)) {
      const DumpRow& row = dump_.rows()[i];
      for (const uint32_t output : outputs) {
        const DumpRow& of = dump_.rows()[output];
        if (SlotOf(row, api.name) != SlotOf(of, forward.name) || row.shape != of.shape) continue;
        const int64_t value = PartnerOf(output);
        if (value < 0 || !IsGradient(row, api.name)) continue;
        roles_[WholeRole(static_cast<size_t>(value))].insert(KeyOfValue(row));
      }
    }
    // A cell adds to the gradient of what it takes in several ways.
    if (outputs.size() == 1 && !IsModuleName(api.name)) AddParts(api, forward, outputs[0]);
  }

  void AddParts(const DumpApi& api, const DumpApi& forward, uint32_t output) {
    const std::vector<uint32_t> taken = TensorsOf(forward, Section::kInput);
    std::vector<size_t> inputs;
    for (const uint32_t each : taken) {
      const int64_t value = PartnerOf(each);
      if (value < 0) return;
      inputs.push_back(static_cast<size_t>(value));
    }
    if (PartnerOf(output) < 0) return;
    for (const uint32_t i : TensorsOf(api, Section::kOutput)) {
      const DumpRow& row = dump_.rows()[i];
      if (!IsGradient(row, api.name)) continue;
      // The order of gradients is not always that of inputs: the shape decides.
      std::set<size_t> fitting;
      for (size_t k = 0; k < taken.size(); ++k) {
        if (dump_.rows()[taken[k]].shape == row.shape) fitting.insert(inputs[k]);
      }
      if (fitting.size() != 1) continue;
      const auto value = static_cast<size_t>(PartnerOf(output));
      roles_[PartRole(value, *fitting.begin(), inputs)].insert(KeyOfValue(row));
    }
  }

  const DumpFile& dump_;
  std::unordered_map<uint32_t, int64_t> partners_;  // of rows
  std::unordered_map<std::string_view, const DumpApi*> calls_;
  GradientRoles roles_;
};

}  // namespace

void AddKernelRoles(const GradientGraph& graph, const RunValues& kernels, GradientRoles* roles) {
  KernelRoles(graph, kernels, roles).AddAll();
}

GradientRoles DumpRoles(const DumpFile& dump, const RunValues& values,
                        const std::vector<int64_t>& partners, const ParameterTensors& parameters) {
  return CallRoles(dump, values, partners).Find(parameters);
}

bool IsGradient(const DumpRow& row, std::string_view api) {
  const bool is_backward =
      row.section == Section::kParametersGrad || api.find(kBackwardMark) != std::string_view::npos;
  return is_backward && HasNumbers(row);
}

}  // namespace sonde::precision
