#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "precision/ir/ir_file.h"
#include "precision/ir/ir_report.h"

namespace sonde::precision {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::string_view kText = R"(# IR entry: @main_1
# Total subgraphs: 2

jit config {
jit_level: O0
}

# Attrs:
training: 0

# Total params: 2
# Params:
%para1_x: <Tensor[Float32], (2, 3)> : [2, 3]
%para2_attn.weight: <Ref[Tensor[Float32]], (3, 3), ref_key=attn.weight>  :  has_default

Node counting information:
Total number of nodes: 9
Total number of cnodes: 4

subgraph instance: main_1 : 0x1
# In file /src/net.py:9~12, 4~38/    def construct(self, x):/
subgraph @main_1() {
  %0(y) = PrimFunc_MatMul(%para1_x, %para2_attn.weight, Bool(0)) {instance name: a} cnode_attrs: {k: Bool(1)} cnode_primal_attrs: {unique_id: "71"}
      : (<Tensor[Float32], (2, 3)>) -> (<Tensor[Float32], (2, 3)>)
      # Fullname with scope: (Default/attn-Attention/MatMul-op0)
      # In file /src/net.py:10, 12~27/        y = self.attn(x)/
      # In file /v/site-packages/mindspore/nn/layer/basic.py:99, 8~9/        x = self.matmul(x, w)/<~~This line of code can be shared by multiple nodes, and may be duplicated./
  %1(CNode_2$z) = %0[@other_3](%0) cnode_primal_attrs: {forward_node_name: "BiasAdd_7", forward_unique_id: "7"}
      : (<Tensor[Float32], (2, 3)>) -> (<Tensor[Float32], (2, 3)>)
      # Fullname with scope: (1)
  Return(%1) cnode_attrs: {checkpoint: Bool(1)}
      # Fullname with scope: (Default/Return-op0)
}
subgraph @other_3() {
  Return(%para1_x)
      : full_name_with_scope: (Default/Return-op1)
      # In file /src/net.py(12)/        return y/
}
# Order:
#   1: @main_1:y{[0]: ValueNode<Primitive> MatMul}
)";

TEST(IrFile, NodesHaveTypeScopeAndSource) {
  const auto file = ParseIr(kText, "/x/21_validate_0076.ir");
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->pass, "validate");
  EXPECT_EQ(file->entry, "main_1");
  EXPECT_EQ(file->subgraphs, 2);
  EXPECT_EQ(file->total_nodes, 9);
  EXPECT_EQ(file->total_cnodes, static_cast<int64_t>(file->nodes.size()));
  EXPECT_THAT(file->graphs, ElementsAre("main_1", "other_3"));
  ASSERT_EQ(file->parameters.size(), 2U);
  EXPECT_EQ(file->parameters[1].name, "%para2_attn.weight");
  const IrNode& node = file->nodes[0];
  EXPECT_EQ(node.id, "%0");
  EXPECT_EQ(node.name, "y");
  EXPECT_EQ(node.op, "MatMul");
  EXPECT_EQ(node.inputs, "%para1_x, %para2_attn.weight, Bool(0)");
  EXPECT_EQ(node.scope, "Default/attn-Attention/MatMul-op0");
  EXPECT_EQ(node.line, 99);
  EXPECT_EQ(node.user_source, "/src/net.py:10  y = self.attn(x)");
  EXPECT_EQ(node.unique_id, "71");
  EXPECT_EQ(node.forward_id, "");
  EXPECT_EQ(file->nodes[1].op, "call");
  EXPECT_EQ(file->nodes[1].unique_id, "");
  EXPECT_EQ(file->nodes[1].forward_id, "7");
  EXPECT_EQ(file->nodes[1].forward_op, "BiasAdd");
  EXPECT_EQ(file->nodes[3].scope, "Default/Return-op1");
  EXPECT_EQ(file->nodes[3].user_source, "/src/net.py:12  return y");
}

TEST(IrFile, PassesAreFoundByName) {
  EXPECT_EQ(IrPassName("21_validate_0076.ir"), "validate");
  EXPECT_EQ(IrPassName("31_validate_0032.ir"), "validate");
  EXPECT_EQ(IrPassName("trace_code_graph_0095"), "trace_code_graph");
  EXPECT_EQ(IrPassName("hwopt_before_opt_graph_0_0080.ir"), "hwopt_before_opt_graph");
}

TEST(IrFile, AnythingElseIsRefusedOrPassedOver) {
  EXPECT_FALSE(ParseIr("", "a.ir").ok());
  EXPECT_FALSE(ParseIr("just words\n", "a.ir").ok());
  for (size_t end = 0; end < kText.size(); end += 7) {
    const auto file = ParseIr(kText.substr(0, end), "a.ir");
    if (file.ok()) {
      EXPECT_LE(file->nodes.size(), 4U);
    }
  }
  const auto odd =
      ParseIr("subgraph @a() {\n  %\n  %1(\n  %2 = (\n  Return(\n      # In file /\n}\n", "a.ir");
  ASSERT_TRUE(odd.ok());
}

TEST(IrReport, NodesAreFoundComparedAndJoined) {
  const IrFile file = *ParseIr(kText, "/x/21_validate_0076.ir");
  EXPECT_EQ(FindNodes({file}, "attn-Attention").rows.size(), 1U);
  EXPECT_EQ(FindNodes({file}, "net.py:12").rows.size(), 1U);
  EXPECT_THAT(FindNodes({file}, "nothing").rows, IsEmpty());
  EXPECT_THAT(CompareFiles(file, file).rows, IsEmpty());
  IrFile other = file;
  other.nodes.erase(other.nodes.begin());
  EXPECT_THAT(CompareFiles(file, other).rows,
              ElementsAre(ElementsAre("Default/attn-Attention", "MatMul", "1", "0",
                                      "/src/net.py:10  y = self.attn(x)")));
  const ScopeTimes times = {{"Default/attn-Attention/MatMul-op0", {3, 4500}}};
  const ScopeValues values = {
      {"Default_attn-Attention_MatMul-op0",
       {{.which = "output 0", .dtype = "float32", .shape = "[2, 3]", .max = "1"}}}};
  const report::TextTable joined = JoinNodes(file, times, values);
  ASSERT_EQ(joined.rows.size(), 4U);
  EXPECT_THAT(joined.rows[0], ElementsAre("%0 y", "MatMul", "Default/attn-Attention/MatMul-op0",
                                          "/src/net.py:10  y = self.attn(x)", "3", "4.500",
                                          "output 0", "float32", "[2, 3]", "1", "", "", ""));
}

}  // namespace
}  // namespace sonde::precision
