#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/host/yaml_file.h"
#include "base/test_folder.h"
#include "precision/mapping/layer_mapping.h"
#include "precision/mapping/name_mapping.h"
#include "precision/test_support.h"

namespace sonde::precision {
namespace {

class MappingTest : public testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& text) {
    const std::string path = folder_.File(name);
    EXPECT_TRUE(base::WriteFileAtomically(path, text).ok());
    return path;
  }
  base::TestFolder folder_;
};

TEST(YamlTest, ReadsPlainDataInOrder) {
  const auto root = base::ParseYaml("b: {x: 1}\na: [p, 'q: r', ~]\n", "x.yaml");
  ASSERT_TRUE(root.ok());
  ASSERT_EQ(root->members.size(), 2U);
  EXPECT_EQ(root->members[0].name, "b");
  EXPECT_EQ(root->Find("a")->items[1].text, "q: r");
  EXPECT_EQ(root->Find("a")->items[2].kind, base::YamlNode::Kind::kNull);
  EXPECT_EQ(root->Find("c"), nullptr);
}

TEST(YamlTest, BadTextIsOneLineWithItsPlace) {
  for (const std::string& text :
       {std::string("a: [1, 2"), std::string("a: b: c"), std::string("? [x]\n: y"),
        std::string(5000, '['), std::string("a: &x [*x]")}) {
    const auto root = base::ParseYaml(text, "x.yaml");
    ASSERT_FALSE(root.ok()) << text.substr(0, 20);
    EXPECT_TRUE(root.status().message().starts_with("x.yaml: ")) << root.status().message();
    EXPECT_EQ(root.status().message().find('\n'), std::string_view::npos);
  }
}

TEST_F(MappingTest, Cells) {
  EXPECT_EQ(CellMapping().Map("Cell.a.Dense.forward.0.input.0"),
            "Module.a.Dense.forward.0.input.0");
  EXPECT_EQ(CellMapping().Map("Functional.relu.0.forward"), "Functional.relu.0.forward");
  const auto mapping =
      CellMapping::Load(Write("cm.yaml", "fc1.Dense: module.fc1.Linear\nnorm: layernorm\n"));
  ASSERT_TRUE(mapping.ok()) << mapping.status().ToString();
  EXPECT_EQ(mapping->Map("Cell.fc1.Dense.forward.0.input.0"),
            "Module.module.fc1.Linear.forward.0.input.0");
  EXPECT_EQ(mapping->Map("Cell.norm.norm.RMS.backward.0"), "Module.layernorm.norm.RMS.backward.0");
  EXPECT_FALSE(CellMapping::Load(Write("bad.yaml", "- a\n- b\n")).ok());
}

TEST_F(MappingTest, Apis) {
  EXPECT_EQ(BuiltInApi("Mint.mean"), "Torch.mean");
  EXPECT_EQ(BuiltInApi("MintFunctional.softmax"), "Functional.softmax");
  EXPECT_EQ(BuiltInApi("Functional.abs"), "Torch.abs");
  EXPECT_EQ(BuiltInApi("Functional.relu"), "Functional.relu");
  EXPECT_EQ(BuiltInApi("Functional.dense"), "Functional.linear");
  EXPECT_EQ(ApiMapping().Map("Mint.mean.0.forward.input.0"), "Torch.mean.0.forward.input.0");
  const auto mapping = ApiMapping::Load(Write(
      "am.yaml",
      "- {ms_api: Mint.a, pt_api: Torch.b, ms_args: [0, 2], pt_args: [1, 0], ms_outputs: [0], "
      "pt_outputs: [0]}\n"
      "- {ms_api: Mint.c, pt_api: Torch.c, ms_args: [0], pt_args: []}\n"
      "- {ms_api: Primitive.dense.Dense, pt_api: Functional.linear, ms_args: [0, 1], pt_args: [0, "
      "1], ms_outputs: [0], pt_outputs: [0]}\n"));
  ASSERT_TRUE(mapping.ok()) << mapping.status().ToString();
  EXPECT_EQ(mapping->skipped_items(), 1U);
  EXPECT_EQ(mapping->Map("Mint.a.3.forward.input.2"), "Torch.b.3.forward.input.0");
  EXPECT_EQ(mapping->Map("Mint.a.3.forward.input.0.5"), "Torch.b.3.forward.input.1.5");
  EXPECT_EQ(mapping->Map("Mint.a.3.forward.input.1"), "");
  EXPECT_EQ(mapping->Map("Mint.a.3.forward.output.0"), "Torch.b.3.forward.output.0");
  EXPECT_EQ(mapping->Map("Mint.z.3.forward.input.0"), "Mint.z.3.forward.input.0");
  // An operator that a cell holds under a name.
  EXPECT_EQ(mapping->Map("Primitive.dense.Dense.7.backward.output.0"),
            "Functional.linear.7.backward.output.0");
  EXPECT_EQ(mapping->Map("Primitive.add.Add.0.forward.input.0"),
            "Primitive.add.Add.0.forward.input.0");
}

TEST_F(MappingTest, Data) {
  const auto mapping = DataMapping::Load(Write("dm.yaml", "a.input.0: b.input.1\n"));
  ASSERT_TRUE(mapping.ok());
  EXPECT_EQ(mapping->Map("a.input.0"), "b.input.1");
  EXPECT_EQ(mapping->Map("c"), "c");
}

std::string MappedCall(const std::string& name) {
  return "\"" + name + R"(": {"input_args": [{"type": "torch.Tensor", "dtype": "torch.float32",
      "shape": [1], "Max": 1.0}], "parameters": {"gamma": {"type": "torch.Tensor",
      "dtype": "torch.float32", "shape": [1]}}})";
}

TEST_F(MappingTest, LayersByTheirPlaceInTheTree) {
  const auto target =
      DumpOf("{" + MappedCall("Module.language_model.encoder.layers.2.mlp.MLP.forward.0") + "," +
                 MappedCall("Torch.mm.4.forward") + "," + MappedCall("Torch.mm.5.forward") + "," +
                 MappedCall("Torch.mm.4.backward") + "}",
             "statistics", "mindspore");
  const auto golden =
      DumpOf("{" + MappedCall("Module.decoder.layers.2.ffn.FFN.forward.0") + "," +
             MappedCall("Functional.mm.0.forward") + "," + MappedCall("Functional.mm.1.forward") +
             "," + MappedCall("Functional.mm.0.backward") + "}");
  const auto target_tree = ConstructFile::Parse(
      R"({"Module.GPTModel.forward.0": null,
          "Module.language_model.encoder.layers.2.mlp.MLP.forward.0": null,
          "Torch.mm.4.forward": "Module.language_model.encoder.layers.2.mlp.MLP.forward.0",
          "Torch.mm.5.forward": "Module.language_model.encoder.layers.2.mlp.MLP.forward.0"})",
      "t");
  const auto golden_tree = ConstructFile::Parse(
      R"({"Module.decoder.layers.2.ffn.FFN.forward.0": null,
          "Functional.mm.0.forward": "Module.decoder.layers.2.ffn.FFN.forward.0",
          "Functional.mm.1.forward": "Module.decoder.layers.2.ffn.FFN.forward.0"})",
      "g");
  const auto mapping =
      LayerMapping::Load(Write("lm.yaml",
                               "TopLayer:\n  language_model.encoder: decoder\n"
                               "  language_model.encoder.layers.2.mlp: decoder.layers.2.ffn\n"));
  ASSERT_TRUE(mapping.ok()) << mapping.status().ToString();
  const auto calls = mapping->MatchCalls(*target, **target_tree, *golden, **golden_tree);
  EXPECT_EQ(calls.find("Module.language_model.encoder.layers.2.mlp.MLP.forward.0")->second,
            "Module.decoder.layers.2.ffn.FFN.forward.0");
  EXPECT_EQ(calls.find("Torch.mm.4.forward")->second, "Functional.mm.0.forward");
  EXPECT_EQ(calls.find("Torch.mm.5.forward")->second, "Functional.mm.1.forward");
  EXPECT_EQ(calls.find("Torch.mm.4.backward")->second, "Functional.mm.0.backward");
  const auto pairs = DataPairsOf(calls, *target, *golden);
  EXPECT_EQ(pairs[0].second, "Module.decoder.layers.2.ffn.FFN.forward.0.input.0");
  EXPECT_EQ(pairs[1].second, "Module.decoder.layers.2.ffn.FFN.forward.0.parameters.gamma");
}

}  // namespace
}  // namespace sonde::precision
