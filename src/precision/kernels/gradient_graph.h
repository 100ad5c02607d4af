// The graph whose kernels were dumped, as MindSpore wrote it beside the dump: what each node takes,
// and of which call of the forward pass a gradient is. For JoinKernels() and JoinGradients().
//
// Nodes that only pass values on (Load, Depend, MakeTuple, TupleGetItem) are left out: what takes
// them takes what they pass on. A node's kernel is its dumped run; it is dropped where the numbers
// of an edge differ at its two ends, since names of dumped kernels may have other numbers than the
// graph's. Threads: pure.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "precision/ir/ir_file.h"
#include "precision/kernels/kernel_flow.h"

namespace sonde::precision {

struct NodeValue {
  size_t node = 0;
  int64_t slot = 0;

  auto operator<=>(const NodeValue&) const = default;
};

struct NodeArgument {
  NodeValue value;
  int64_t place = -1;  // among the inputs of the kernel; -1: inside of a tuple
};

struct KernelNode {
  std::string op;            // "MatMul"; empty: a parameter
  std::string parameter;     // its name, "head.weight"
  std::string expanded;      // "matmulext" of "Expand/_MatMulExt/BatchMatMul-op0"; empty: none
  std::string unique_id;     // of a call of the program
  std::string forward_id;    // of a gradient: the unique_id of the call that it is of
  std::string forward_op;    // of that call, as `expanded` is written
  bool is_gradient = false;  // of the backward pass
  int64_t elements = -1;     // of a parameter
  std::vector<NodeArgument> arguments;  // constants aside
  std::vector<size_t> users;
  const KernelCall* kernel = nullptr;  // null: not dumped, or not known which

  bool IsParameter() const { return op.empty(); }
};

using GradientGraph = std::vector<KernelNode>;

// Empty where the file has more than one graph.
GradientGraph ReadGradientGraph(const IrFile& file, const KernelFlow& flow);
// Of all files of the flow; fails where one cannot be read.
Result<std::vector<GradientGraph>> ReadGradientGraphs(const KernelFlow& flow);

// The kernels in the order of the graph's text, which is that of the program: kernels run in
// another one where they do not depend on each other. Those that it lacks stay behind the kernel
// before them.
std::vector<const KernelCall*> CallsInGraphOrder(const KernelFlow& flow,
                                                 const std::vector<GradientGraph>& graphs);

// Null: not dumped.
const KernelTensor* OutputOf(const GradientGraph& graph, const NodeValue& value);
const KernelTensor* InputOf(const KernelNode& node, const NodeArgument& argument);

bool TakesGradients(const GradientGraph& graph, size_t node);
// Nodes of the forward pass that take any output of a node; optimizers, which take gradients,
// aside.
std::vector<size_t> ForwardUsers(const GradientGraph& graph, size_t node);

}  // namespace sonde::precision
