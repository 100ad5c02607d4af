#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/host/yaml_file.h"
#include "base/test_folder.h"
#include "precision/mapping/cell_calls.h"
#include "precision/mapping/layer_mapping.h"
#include "precision/mapping/name_mapping.h"
#include "precision/mapping/parameter_pairs.h"
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

struct ParameterCase {
  std::vector<std::string_view> target;
  std::vector<std::string_view> golden;
  std::vector<int> partners;
};

class ParameterPairsTest : public testing::TestWithParam<ParameterCase> {};

TEST_P(ParameterPairsTest, ByWhatTheyAre) {
  const ParameterCase& each = GetParam();
  EXPECT_EQ(PairParameterNames(each.target, each.golden), each.partners);
  // The other way round it is the same.
  std::vector<int> back(each.golden.size(), -1);
  for (size_t i = 0; i < each.partners.size(); ++i) {
    if (each.partners[i] >= 0) back[static_cast<size_t>(each.partners[i])] = static_cast<int>(i);
  }
  EXPECT_EQ(PairParameterNames(each.golden, each.target), back);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, ParameterPairsTest,
    testing::Values(
        ParameterCase{{"beta.0", "gamma.0"}, {"weight.0", "bias.0"}, {1, 0}},
        ParameterCase{{".parameters.embedding_table"}, {".parameters.weight"}, {0}},
        // A module's running means are no parameters of it, and no weight takes their place.
        ParameterCase{{"moving_mean", "moving_variance", "gamma", "beta"},
                      {"weight", "bias"},
                      {-1, -1, 0, 1}},
        ParameterCase{{"moving_mean", "moving_variance"}, {"running_mean", "running_var"}, {0, 1}},
        ParameterCase{{"weight_hh_l0", "weight_ih_l0"}, {"weight_ih_l0", "weight_hh_l0"}, {1, 0}},
        // Names that say nothing: by position.
        ParameterCase{{"scale", "shift"}, {"weight", "bias"}, {0, 1}},
        ParameterCase{{"a", "gamma", "b"}, {"weight", "x", "y"}, {1, 0, 2}},
        ParameterCase{{"gamma"}, {"bias"}, {-1}},
        ParameterCase{{"moving_mean", "a"}, {"x"}, {-1, 0}}));

std::string NormCall(const std::string& name, const std::string& first, const std::string& second) {
  const std::string record =
      R"({"type": "torch.Tensor", "dtype": "torch.float32", "shape": [4], "Max": 1.0})";
  const std::string parameters =
      "{\"" + first + "\": " + record + ", \"" + second + "\": " + record;
  return "\"" + name + ".forward.0\": {\"input_args\": [" + record +
         "], \"parameters\": " + parameters + "}}, \"" + name + ".parameters_grad.0\": {\"" +
         second + "\": [" + record + "], \"" + first + "\": [" + record + "]}";
}

TEST(LayerMappingTest, ParametersPairByWhatTheyAre) {
  const auto target = DumpOf("{" + NormCall("Cell.norm.LayerNorm", "beta", "gamma") + "}",
                             "statistics", "mindspore");
  const auto golden = DumpOf("{" + NormCall("Module.norm.LayerNorm", "weight", "bias") + "}");
  const auto tree = ConstructFile::Parse("{}", "c");
  const auto calls = LayerMapping().MatchCalls(*target, **tree, *golden, **tree);
  std::vector<std::string> pairs;
  for (const auto& [from, to] : DataPairsOf(calls, *target, *golden)) {
    if (from.find(".parameters") == std::string::npos) continue;
    pairs.push_back(from.substr(from.find(".param")) + " " + to.substr(to.find(".param")));
  }
  EXPECT_THAT(pairs, testing::ElementsAre(".parameters.beta .parameters.bias",
                                          ".parameters.gamma .parameters.weight",
                                          ".parameters_grad.0.gamma .parameters_grad.0.weight",
                                          ".parameters_grad.0.beta .parameters_grad.0.bias"));
}

// The golden run's first cell calls relu twice.
TEST(CellCallsTest, CallsPairInTheirCellAlone) {
  const auto target = DumpOf(
      "{" + MappedCall("Mint.relu.0.forward") + "," + MappedCall("Mint.relu.1.forward") + "," +
          MappedCall("Mint.relu.2.forward") + "," + MappedCall("Mint.relu.1.backward") + "}",
      "statistics", "mindspore");
  const auto golden = DumpOf(
      "{" + MappedCall("Torch.relu.0.forward") + "," + MappedCall("Torch.relu.1.forward") + "," +
      MappedCall("Torch.relu.2.forward") + "," + MappedCall("Torch.relu.2.backward") + "}");
  const auto target_tree = ConstructFile::Parse(
      R"({"Cell.a.Dense.forward.0": null, "Mint.relu.0.forward": "Cell.a.Dense.forward.0",
          "Cell.b.Dense.forward.0": null, "Mint.relu.1.forward": "Cell.b.Dense.forward.0",
          "Mint.relu.2.forward": "Cell.b.Dense.forward.0"})",
      "t");
  const auto golden_tree = ConstructFile::Parse(
      R"({"Module.a.Linear.forward.0": null, "Torch.relu.0.forward": "Module.a.Linear.forward.0",
          "Torch.relu.1.forward": "Module.a.Linear.forward.0",
          "Module.b.Linear.forward.0": null, "Torch.relu.2.forward": "Module.b.Linear.forward.0"})",
      "g");
  const auto map_name = [](std::string_view name) {
    std::string out(name);
    if (out.starts_with("Cell.")) return out.replace(0, 4, "Module");
    return out.replace(0, 4, "Torch");
  };
  const CellCalls calls(*target, **target_tree, *golden, **golden_tree, map_name);
  const auto golden_of = [&](const std::string& name) {
    return calls.WithGoldenNumber(name, map_name(name));
  };
  EXPECT_EQ(golden_of("Mint.relu.0.forward.input.0"), "Torch.relu.0.forward.input.0");
  EXPECT_EQ(golden_of("Mint.relu.1.forward.input.0"), "Torch.relu.2.forward.input.0");
  EXPECT_EQ(golden_of("Mint.relu.2.forward.input.0"), "");
  EXPECT_EQ(golden_of("Mint.relu.1.backward.input.0"), "Torch.relu.2.backward.input.0");
  EXPECT_EQ(calls.LoneCalls(),
            "1 call only in the target's cells (the first: Mint.relu.2.forward), 1 call only in "
            "the golden run's modules (the first: Torch.relu.1.forward)");
}

}  // namespace
}  // namespace sonde::precision
