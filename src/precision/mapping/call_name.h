// The parts of the names of calls, for mappings between two programs.
//
// Threads: pure. Views refer to the name.
#pragma once

#include <string>
#include <string_view>

namespace sonde::precision {

// "Module.layers.0.Linear.forward.2".
struct ModuleCall {
  std::string_view path;        // "layers.0"
  std::string_view class_name;  // "Linear"
  std::string_view state;       // "forward", "backward", "parameters_grad"
  std::string_view number;      // "2"
};

// False: no call of a module or cell.
bool ParseModuleCall(std::string_view name, ModuleCall* out);

// "Torch.square.3.forward" -> "square"; "Primitive.dense.Dense.0.forward" -> "dense.Dense".
std::string ShortApiName(std::string_view name);

// The forward call of a backward one; empty: it is none.
std::string ForwardTwin(std::string_view name);

}  // namespace sonde::precision
