// The kernels of one step of a compiled MindSpore graph as calls with inputs and outputs, in the
// order in which they ran, each with the cells of its scope.
//
// Names of dump files have '_' for the '/' of a scope; the whole scopes are in
// rank_<N>/execution_order/ms_execution_order_graph_<graph>.csv beside the dump, and the text of
// the graph in rank_<N>/graphs/ms_output_trace_code_graph_<graph>.ir. Errors: Status that names
// folder or file; tensors that cannot be read are counted and left out. Threads: works in parallel
// inside.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace sonde::precision {

struct KernelTensor {
  bool is_output = false;
  int64_t slot = 0;
  std::string dtype;  // as numpy calls it: "float32"
  std::vector<int64_t> shape;
  std::array<double, 4> statistics = {};  // max, min, mean, norm
  std::string path;                       // of the tensor; empty: statistics alone
};

// One part of a scope: "attn-Attention".
struct ScopeCell {
  std::string name;
  std::string type;
};

struct KernelCall {
  std::string scope;  // "Default/layers-CellList/0-Block/attn-Attention/MatMul-op0"
  std::string name;   // "MatMul-op0"
  std::string type;   // "MatMul"
  std::vector<ScopeCell> cells;
  bool is_backward = false;  // its scope is of gradients
  bool has_cells = false;    // false: it was made by the compiler, outside of the program's scopes
  int64_t time = 0;
  std::vector<KernelTensor> tensors;
};

struct KernelFlow {
  bool tensors = false;  // files with values; false: statistics alone
  std::vector<KernelCall> calls;
  std::vector<std::string> graphs;  // the texts of their graphs, where they are there
  uint64_t unreadable = 0;
  std::string first_unreadable;
};

// All folders of one rank and step together, as FindKernelDumps() gives them. Without
// `needs_scopes` kernels have the names of their files where the scopes are not there.
Result<KernelFlow> ReadKernelFlow(const std::vector<std::string>& folders,
                                  bool needs_scopes = true);

// The cells of a scope, without the name of the kernel.
void SplitScope(const std::string& scope, KernelCall* call);

}  // namespace sonde::precision
