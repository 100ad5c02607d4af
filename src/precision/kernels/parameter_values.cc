#include "precision/kernels/parameter_values.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "base/strings.h"

namespace sonde::precision {
namespace {

using base::Concat;

constexpr std::string_view kOfParameters = ".parameters_grad";
constexpr size_t kPartsBehindCell = 2;  // direction and number
// What gives its input with another shape, on some devices without a kernel.
constexpr std::array<std::string_view, 6> kViews = {"Reshape", "View",    "ExpandDims",
                                                    "Squeeze", "Flatten", "Transpose"};

bool IsUndumpedView(const KernelNode& node) {
  return node.kernel == nullptr && std::any_of(kViews.begin(), kViews.end(), [&](const auto& view) {
           return node.op.ends_with(view);
         });
}

// What the forward pass takes of the node's first output.
void AddTaken(const GradientGraph& graph, size_t node, std::vector<const KernelTensor*>* out) {
  for (const size_t user : ForwardUsers(graph, node)) {
    for (const NodeArgument& argument : graph[user].arguments) {
      if (argument.value.node != node) continue;
      if (const KernelTensor* tensor = InputOf(graph[user], argument)) out->push_back(tensor);
    }
    if (IsUndumpedView(graph[user])) AddTaken(graph, user, out);
  }
}

}  // namespace

ParameterTensors FindParameters(const std::vector<GradientGraph>& graphs) {
  ParameterTensors out;
  for (const GradientGraph& graph : graphs) {
    for (size_t i = 0; i < graph.size(); ++i) {
      if (!graph[i].IsParameter() || ForwardUsers(graph, i).empty()) continue;
      AddTaken(graph, i, &out[graph[i].parameter]);
    }
  }
  return out;
}

std::string NameOfParameter(const DumpRow& row, std::string_view api) {
  std::string_view cell = api;
  std::string_view name = row.name.substr(std::min(api.size() + 1, row.name.size()));
  if (row.section == Section::kParametersGrad) {
    cell = api.substr(0, api.find(kOfParameters));
  } else if (row.section == Section::kParameters) {
    name = name.substr(std::min(name.find('.') + 1, name.size()));
  } else {
    return {};
  }
  std::vector<std::string_view> parts = base::Split(cell, '.');
  const size_t behind = row.section == Section::kParameters ? kPartsBehindCell + 1 : 1;
  if (parts.size() < behind + 1) return {};
  parts.erase(parts.begin());
  parts.resize(parts.size() - behind);
  std::vector<std::string_view> own = base::Split(name, '.');
  if (row.section == Section::kParametersGrad) {
    while (own.size() > 1 && base::IsDigits(own.back())) own.pop_back();
  }
  parts.insert(parts.end(), own.begin(), own.end());
  return base::Join(parts, ".");
}

std::string KernelParameter(const std::string& name, const ParameterTensors& parameters) {
  if (parameters.contains(name)) return name;
  std::string found;
  for (const auto& [each, tensors] : parameters) {
    if (!each.ends_with(Concat(".", name)) && !name.ends_with(Concat(".", each))) continue;
    if (!found.empty()) return {};
    found = each;
  }
  return found;
}

void NameKernelValues(const ParameterTensors& parameters, RunValues* kernels) {
  std::unordered_map<const KernelTensor*, RunValue*> value_of;
  for (RunValue& value : kernels->values) {
    for (const KernelTensor* tensor : value.tensors) value_of[tensor] = &value;
  }
  for (const auto& [name, tensors] : parameters) {
    for (const KernelTensor* tensor : tensors) {
      const auto found = value_of.find(tensor);
      if (found != value_of.end()) found->second->parameters.insert(name);
    }
  }
}

void NameDumpValues(const DumpFile& dump, const ParameterTensors& parameters, RunValues* values) {
  for (RunValue& value : values->values) {
    for (const uint32_t i : value.rows) {
      const DumpRow& row = dump.rows()[i];
      if (row.section != Section::kParameters) continue;
      const std::string name =
          KernelParameter(NameOfParameter(row, dump.apis()[row.api].name), parameters);
      if (!name.empty()) value.parameters.insert(name);
    }
  }
}

std::vector<int64_t> PairParameters(const RunValues& dump, const RunValues& kernels) {
  std::unordered_map<std::string_view, size_t> value_of;
  for (size_t k = 0; k < kernels.values.size(); ++k) {
    for (const std::string& name : kernels.values[k].parameters) value_of.emplace(name, k);
  }
  std::vector<int64_t> partners(dump.values.size(), -1);
  std::vector<bool> taken(kernels.values.size(), false);
  for (size_t d = 0; d < dump.values.size(); ++d) {
    for (const std::string& name : dump.values[d].parameters) {
      const auto found = value_of.find(name);
      if (found == value_of.end() || taken[found->second]) continue;
      taken[found->second] = true;
      partners[d] = static_cast<int64_t>(found->second);
      break;
    }
  }
  return partners;
}

}  // namespace sonde::precision
