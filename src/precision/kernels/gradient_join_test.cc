#include "precision/kernels/gradient_join.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/strings.h"
#include "base/test_folder.h"
#include "precision/dump/construct_file.h"

namespace sonde::precision {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// y = x w, its square, and the step of an optimizer.
constexpr std::string_view kSquareGraph = R"(# IR entry: @g
# Total subgraphs: 1

# Params:
%para1_x: <Tensor[Float32], (2, 3)> : [2, 3]
%para2_head.weight: <Ref[Tensor[Float32]], (4, 3), ref_key=head.weight>  :  has_default

subgraph @g() {
  %0(w) = Load(%para2_head.weight, UMonad[U])
  %1(y) = PrimFunc_MatMul(%para1_x, %0, Bool(0), Bool(1)) cnode_primal_attrs: {unique_id: "7"}
      # Fullname with scope: (Default/head-Dense/MatMul-op0)
  %2(g) = PrimFunc_Mul(%1, Tensor(shape=[], value=2)) cnode_primal_attrs: {forward_node_name: "Square_8", forward_unique_id: "8"}
      # Fullname with scope: (Gradients/Default/Grad_Square/Mul-op0)
  %3(a) = PrimFunc_MatMul(%2, %0, Bool(0), Bool(0)) cnode_primal_attrs: {forward_node_name: "MatMul_7", forward_unique_id: "7"}
      # Fullname with scope: (Gradients/Default/head-Dense/Grad_MatMul/MatMul-op0)
  %4(b) = PrimFunc_MatMul(%2, %para1_x, Bool(1), Bool(0)) cnode_primal_attrs: {forward_node_name: "MatMul_7", forward_unique_id: "7"}
      # Fullname with scope: (Gradients/Default/head-Dense/Grad_MatMul/MatMul-op1)
  %5(s) = PrimFunc_SGD(%para2_head.weight, %4)
      # Fullname with scope: (Default/optimizer-SGD/SGD-op0)
  Return(%5, %3)
}
)";

// The numbers are others than the graph's: they do not matter.
constexpr std::string_view kLinearDump =
    R"({"task": "statistics", "level": "mix", "framework": "mindspore",
"dump_data_dir": null, "data": {
"Functional.linear.0.forward": {
  "input_args": [{"type": "mindspore.Tensor", "dtype": "Float32", "shape": [2, 3], "Max": 1, "Min": 0, "Mean": 0.5, "Norm": 2},
                 {"type": "mindspore.Tensor", "dtype": "Float32", "shape": [4, 3], "Max": 2, "Min": 0, "Mean": 0.5, "Norm": 3}],
  "input_kwargs": {},
  "output": [{"type": "mindspore.Tensor", "dtype": "Float32", "shape": [2, 4], "Max": 3, "Min": 0, "Mean": 0.5, "Norm": 4}]},
"Functional.linear.0.backward": {
  "input": [{"type": "mindspore.Tensor", "dtype": "Float32", "shape": [2, 4], "Max": 64, "Min": 0, "Mean": 0.5, "Norm": 5}],
  "output": [{"type": "mindspore.Tensor", "dtype": "Float32", "shape": [4, 3], "Max": 86, "Min": 0, "Mean": 0.5, "Norm": 7},
             {"type": "mindspore.Tensor", "dtype": "Float32", "shape": [2, 3], "Max": 75, "Min": 0, "Mean": 0.5, "Norm": 6}]},
"Cell.head.Dense.parameters_grad.0": {
  "weight": [{"type": "mindspore.Tensor", "dtype": "Float32", "shape": [4, 3], "Max": 86, "Min": 0, "Mean": 0.5, "Norm": 7}]}
}})";

KernelTensor NumberedTensor(bool is_output, int64_t slot, std::vector<int64_t> shape, double max) {
  return {is_output, slot, "float32", std::move(shape), {max, 0, 0.5, 1}, ""};
}

KernelFlow SquareFlow(const std::string& graph) {
  const KernelTensor x = NumberedTensor(false, 0, {2, 3}, 1);
  const KernelTensor w = NumberedTensor(false, 1, {4, 3}, 2);
  const KernelTensor y = NumberedTensor(true, 0, {2, 4}, 3);
  const KernelTensor taken_y = NumberedTensor(false, 0, {2, 4}, 3);
  const KernelTensor g = NumberedTensor(true, 0, {2, 4}, 6);
  const KernelTensor taken_g = NumberedTensor(false, 0, {2, 4}, 6);
  KernelTensor taken_x = x;
  taken_x.slot = 1;
  KernelFlow flow;
  const auto add = [&flow](const std::string& scope, std::vector<KernelTensor> tensors) {
    SplitScope(scope, &flow.calls.emplace_back());
    flow.calls.back().tensors = std::move(tensors);
  };
  add("Default/head-Dense/MatMul-op0", {x, w, y});
  add("Gradients/Default/Grad_Square/Mul-op0", {taken_y, g});
  add("Gradients/Default/head-Dense/Grad_MatMul/MatMul-op0",
      {taken_g, w, NumberedTensor(true, 0, {2, 3}, 7)});
  add("Gradients/Default/head-Dense/Grad_MatMul/MatMul-op1",
      {taken_g, taken_x, NumberedTensor(true, 0, {4, 3}, 8)});
  flow.graphs = {graph};
  return flow;
}

// The maxima of the kernels' tensors that are joined with each gradient of the dump.
std::vector<std::vector<double>> JoinedMaxima(std::string_view graph) {
  const base::TestFolder folder;
  const std::string path = folder.File("graph.ir");
  EXPECT_TRUE(base::WriteFileAtomically(path, graph).ok());
  const KernelFlow flow = SquareFlow(path);
  const auto dump = DumpFile::Parse(kLinearDump, "dump.json");
  const auto construct = ConstructFile::Parse("{}", "construct.json");
  EXPECT_TRUE(dump.ok() && construct.ok());
  const RunValues values = ValuesOfDump(**dump, **construct);
  EXPECT_EQ(values.values.size(), 3U);
  const auto graphs = ReadGradientGraphs(flow);
  EXPECT_TRUE(graphs.ok());
  const RunValues kernels = ValuesOfKernels(CallsInGraphOrder(flow, *graphs));
  const auto joined =
      JoinGradients(flow, *graphs, FindParameters(*graphs), kernels, **dump, values, {0, 1, 2});
  std::vector<std::vector<double>> out;
  for (const JoinedGradient& gradient : joined) {
    out.emplace_back();
    for (const KernelTensor* tensor : gradient.tensors) out.back().push_back(tensor->statistics[0]);
  }
  return out;
}

TEST(GradientJoin, ByWhatTheyAreTheGradientOf) {
  // Of y (given and taken twice), of the weight, of x.
  EXPECT_THAT(JoinedMaxima(kSquareGraph),
              ElementsAre(ElementsAre(6, 6, 6), ElementsAre(8), ElementsAre(7)));
}

TEST(GradientJoin, WithoutIdsThereIsOnlyWhatTheOptimizerTakes) {
  const std::string without = base::ReplaceAll(kSquareGraph, "forward_unique_id: \"7\"", "");
  EXPECT_THAT(JoinedMaxima(without), ElementsAre(IsEmpty(), ElementsAre(8), IsEmpty()));
}

TEST(GradientJoin, OfCallsThatShareTheirIdNothingIsCertain) {
  const std::string shared = base::ReplaceAll(
      kSquareGraph, "  %2(g)",
      "  %9(z) = PrimFunc_MatMul(%para1_x, %0) cnode_primal_attrs: {unique_id: \"7\"}\n"
      "      # Fullname with scope: (Default/head-Dense/MatMul-op5)\n  %2(g)");
  EXPECT_THAT(JoinedMaxima(shared), ElementsAre(IsEmpty(), ElementsAre(8), IsEmpty()));
}

}  // namespace
}  // namespace sonde::precision
