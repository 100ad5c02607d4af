#include "precision/kernels/gradient_join.h"

#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "precision/kernels/gradient_roles.h"

namespace sonde::precision {
namespace {

// Keys of the kernels' gradients by those of the dump, each of them once.
std::map<std::string, std::string> PairKeys(const GradientRoles& of_dump,
                                            const GradientRoles& of_kernels) {
  std::map<std::string, std::set<std::string>> found;
  for (const auto& [role, keys] : of_dump) {
    const auto other = of_kernels.find(role);
    if (other == of_kernels.end() || keys.size() != 1 || other->second.size() != 1) continue;
    found[*keys.begin()].insert(*other->second.begin());
  }
  std::map<std::string, int> takers;
  for (const auto& [key, others] : found) {
    for (const std::string& other : others) ++takers[other];
  }
  std::map<std::string, std::string> out;
  for (const auto& [key, others] : found) {
    if (others.size() == 1 && takers[*others.begin()] == 1) out[key] = *others.begin();
  }
  return out;
}

}  // namespace

std::vector<JoinedGradient> JoinGradients(const KernelFlow& flow,
                                          const std::vector<GradientGraph>& graphs,
                                          const ParameterTensors& parameters,
                                          const RunValues& kernels, const DumpFile& dump,
                                          const RunValues& values,
                                          const std::vector<int64_t>& partners) {
  GradientRoles of_kernels;
  for (const GradientGraph& graph : graphs) AddKernelRoles(graph, kernels, &of_kernels);
  const auto pairs = PairKeys(DumpRoles(dump, values, partners, parameters), of_kernels);
  std::unordered_map<std::string, std::vector<const KernelTensor*>> tensors;
  for (const auto& [key, other] : pairs) tensors[other];
  for (const KernelCall& call : flow.calls) {
    for (const KernelTensor& tensor : call.tensors) {
      const auto found = tensors.find(KeyOfValue(tensor));
      if (found != tensors.end()) found->second.push_back(&tensor);
    }
  }
  std::vector<JoinedGradient> out;
  std::unordered_map<std::string, size_t> index;
  for (const DumpApi& api : dump.apis()) {
    for (uint32_t i = api.first_row; i < api.first_row + api.row_count; ++i) {
      if (!IsGradient(dump.rows()[i], api.name)) continue;
      const std::string key = KeyOfValue(dump.rows()[i]);
      const auto [found, is_new] = index.emplace(key, out.size());
      if (is_new) {
        out.emplace_back();
        const auto pair = pairs.find(key);
        if (pair != pairs.end()) out.back().tensors = tensors[pair->second];
      }
      out[found->second].rows.push_back(i);
    }
  }
  return out;
}

}  // namespace sonde::precision
