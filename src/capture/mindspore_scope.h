// The cells in the name of a kernel of a compiled MindSpore graph:
// "Default/layers-CellList/0-Block/qkv-Dense/MatMul-op0". Threads: pure.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "base/strings.h"

namespace sonde::capture {

struct MindsporeScopeCell {
  std::string_view name;        // "qkv"
  std::string_view cell_class;  // "Dense"
};

struct MindsporeScope {
  bool is_backward = false;  // "Gradients/Default/..."
  bool is_known = false;     // false: the compiler made the kernel, outside of the program's cells
  std::vector<MindsporeScopeCell> cells;  // from the outermost; views of the name
};

inline MindsporeScope ParseMindsporeScope(std::string_view kernel) {
  constexpr std::string_view kForward = "Default/";
  constexpr std::string_view kForwardAgain = "recompute_Default/";
  constexpr std::string_view kGradients = "Gradients/";
  constexpr std::string_view kGradientOf = "Grad_";  // of one operator's gradient: no cell
  MindsporeScope scope;
  scope.is_backward = kernel.starts_with(kGradients);
  if (scope.is_backward) kernel.remove_prefix(kGradients.size());
  if (!kernel.starts_with(kForward) && !kernel.starts_with(kForwardAgain)) return scope;
  const std::vector<std::string_view> parts = base::Split(kernel, '/');
  for (size_t i = 1; i + 1 < parts.size(); ++i) {
    const std::string_view part = parts[i];
    const size_t dash = part.rfind('-');
    if (scope.is_backward && part.starts_with(kGradientOf)) break;
    if (dash == std::string_view::npos) {
      scope.cells.clear();
      return scope;
    }
    scope.cells.push_back({part.substr(0, dash), part.substr(dash + 1)});
  }
  scope.is_known = true;
  return scope;
}

}  // namespace sonde::capture
