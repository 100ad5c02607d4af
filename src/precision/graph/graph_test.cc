#include "precision/graph/graph.h"

#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <vector>

#include "precision/dump/json_scanner.h"
#include "precision/graph/node_json.h"
#include "precision/graph/node_result.h"
#include "precision/graph/overflow.h"
#include "precision/graph/recompute.h"
#include "precision/test_support.h"

namespace sonde::precision {
namespace {

std::string_view Kept(std::string text) {
  static std::deque<std::string> texts;
  return texts.emplace_back(std::move(text));
}

DumpFolder Folder(const std::string& construct, const std::string& data = "{}",
                  const std::string& stack = "{}") {
  DumpFolder out;
  out.dump = DumpOf(data);
  out.construct = std::move(*ConstructFile::Parse(Kept(construct), "construct.json"));
  out.stack = std::move(*StackFile::Parse(Kept(stack), "stack.json"));
  return out;
}

Graph BuildGraph(const DumpFolder& folder) {
  Result<Graph> graph = Graph::Build(folder, "dump");
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  return std::move(*graph);
}

std::string ParentOf(const Graph& graph, std::string_view name) {
  const int32_t index = graph.Find(name);
  if (index == kNoNode) return "no such node";
  const int32_t parent = graph.node(index).parent;
  return parent == kNoNode ? "" : std::string(graph.node(parent).name);
}

std::vector<std::string> Order(const Graph& graph) {
  std::vector<std::string> names;
  for (const int32_t index : graph.post_order()) names.emplace_back(graph.node(index).name);
  return names;
}

std::string TensorOf(const std::string& max, const std::string& norm = "1.0",
                     const std::string& dtype = "torch.float32") {
  return R"({"type": "torch.Tensor", "dtype": ")" + dtype + R"(", "shape": [2], "Max": )" + max +
         R"(, "Min": 0.0, "Mean": 0.5, "Norm": )" + norm + R"(, "requires_grad": false})";
}

std::string CallOf(const std::string& name, const std::string& input, const std::string& output) {
  return "\"" + name + R"(": {"input_args": [)" + input + R"(], "input_kwargs": {}, "output": [)" +
         output + "]}";
}

TEST(GraphTest, ChildrenComeBeforeParents) {
  const DumpFolder folder = Folder(
      R"({"Module.a.A.forward.0": null, "Torch.mm.0.forward": "Module.a.A.forward.0",
          "Torch.add.0.forward": null, "Torch.add.1.forward": null, "Module.b.B.forward.0": null,
          "Torch.add.2.forward": null})");
  const Graph graph = BuildGraph(folder);
  EXPECT_EQ(Order(graph), (std::vector<std::string>{
                              "Torch.mm.0.forward", "Module.a.A.forward.0", "Torch.add.0.forward",
                              "Torch.add.1.forward", "Apis_Between_Modules.0",
                              "Module.b.B.forward.0", "Torch.add.2.forward", "DefaultModel"}));
  EXPECT_EQ(graph.node(graph.Find("Apis_Between_Modules.0")).type, NodeType::kApiList);
  EXPECT_EQ(ParentOf(graph, "Torch.add.2.forward"), "DefaultModel");
}

TEST(GraphTest, BackwardCallsFindTheirModule) {
  const DumpFolder folder = Folder(
      R"({"Module.m.M.forward.0": null, "Module.m.l.L.forward.0": "Module.m.M.forward.0",
          "Module.m.r.R.forward.0": "Module.m.M.forward.0",
          "Torch.mm.0.forward": "Module.m.l.L.forward.0",
          "Module.m.M.backward.0": null, "Module.m.r.R.backward.1": null,
          "Module.m.l.L.backward.0": "Module.m.r.R.backward.1",
          "Torch.mm.0.backward": null})");
  const Graph graph = BuildGraph(folder);
  EXPECT_EQ(ParentOf(graph, "Module.m.l.L.backward.0"), "Module.m.M.backward.0");
  EXPECT_EQ(ParentOf(graph, "Torch.mm.0.backward"), "Module.m.l.L.backward.0");
}

TEST(GraphTest, GradientsHangBelowTheLastBackwardCall) {
  const DumpFolder folder =
      Folder(R"({"Module.a.A.backward.1": null, "Module.a.A.backward.0": null})",
             R"({"Module.a.A.parameters_grad.0": {"weight": [)" + TensorOf("1.0") + R"(]}})");
  const Graph graph = BuildGraph(folder);
  EXPECT_EQ(ParentOf(graph, "Module.a.A.parameters_grad.0"), "Module.a.A.backward.1");
}

TEST(GraphTest, AnOwnAncestorIsRefused) {
  const DumpFolder folder = Folder(R"({"Module.a.A.forward.0": "Module.b.B.forward.0",
                 "Module.b.B.forward.0": "Module.a.A.forward.0"})");
  const Result<Graph> graph = Graph::Build(folder, "dump");
  ASSERT_FALSE(graph.ok());
  EXPECT_NE(graph.status().message().find("own ancestor"), std::string::npos);
}

TEST(GraphTest, AMissingTreeNamesTheLevel) {
  const DumpFolder folder = Folder("{}");
  const Result<Graph> graph = Graph::Build(folder, "dump/step0/rank0");
  ASSERT_FALSE(graph.ok());
  EXPECT_NE(graph.status().message().find("level L0 or mix"), std::string::npos);
}

// The construct.json of modules that lie each in the one before it.
std::string Nested(int levels) {
  std::string construct = R"({"Module.0.M.forward.0": null)";
  for (int i = 1; i < levels; ++i) {
    construct += R"(, "Module.)" + std::to_string(i) + R"(.M.forward.0": "Module.)" +
                 std::to_string(i - 1) + R"(.M.forward.0")";
  }
  return construct + "}";
}

TEST(GraphTest, AThousandLevelsAndNoMore) {
  const DumpFolder folder = Folder(Nested(1000));
  const Graph graph = BuildGraph(folder);
  EXPECT_EQ(graph.post_order().size(), 1001U);
  const NodeMatches matches = MatchGraphs(graph, graph, {});
  EXPECT_EQ(std::count(matches.begin(), matches.end(), kNoNode), 0);
  for (const int levels : {1001, 20'000}) {
    const DumpFolder deeper = Folder(Nested(levels));
    const Result<Graph> refused = Graph::Build(deeper, "dump");
    ASSERT_FALSE(refused.ok()) << levels;
    EXPECT_NE(refused.status().message().find("deeper than 1000 levels"), std::string::npos);
  }
}

TEST(GraphTest, MicroStepsBeginWithForwardAfterBackward) {
  const DumpFolder folder = Folder(
      R"({"Module.a.A.forward.0": null, "Module.a.A.backward.0": null, "Torch.x.0.forward": null,
          "Module.a.A.forward.1": null, "Torch.y.0.forward": "Module.a.A.forward.1"})");
  const Graph graph = BuildGraph(folder);
  EXPECT_EQ(graph.micro_step_count(), 2);
  EXPECT_EQ(graph.node(graph.Find("Torch.x.0.forward")).micro_step, 0);
  EXPECT_EQ(graph.node(graph.Find("Torch.y.0.forward")).micro_step, 1);
}

TEST(GraphTest, MicroStepsOfMegatronAreTaken) {
  const DumpFolder folder = Folder(
      R"({"Module.a.A.forward.0": [null, 0], "Module.a.A.forward.1": [null, 1],
          "megatron_micro_step_number": 1})");
  const Graph graph = BuildGraph(folder);
  EXPECT_EQ(graph.micro_step_count(), 2);
  EXPECT_EQ(graph.node(graph.Find("Module.a.A.forward.1")).micro_step, 1);
}

TEST(GraphTest, RecomputedModulesMoveBelowTheBackwardCall) {
  const std::string stack =
      R"({"0": [["Module.m.layers.0.l.L.forward.1"],
                ["File /x/torch/utils/checkpoint.py, line 1, in recompute_fn, f"]]})";
  const DumpFolder folder = Folder(
      R"({"Module.m.M.forward.0": null,
          "Module.m.layers.0.l.L.forward.0": "Module.m.M.forward.0",
          "Module.m.M.backward.0": null, "Module.m.layers.0.l.L.forward.1": null,
          "Module.m.layers.0.l.L.backward.1": null})",
      "{}", stack);
  const Graph graph = BuildGraph(folder);
  EXPECT_EQ(ParentOf(graph, "Module.m.layers.0.l.L.forward.1"), "Module.m.M.backward.0");
  EXPECT_EQ(ParentOf(graph, "Module.m.layers.0.l.L.backward.1"), "Module.m.M.backward.0");
}

TEST(RecomputeTest, AutogradCallingABackwardFunctionIsOne) {
  EXPECT_TRUE(
      IsRecomputationStack({"File /m/megatron/random.py, line 9, in backward, \n f()",
                            "File /x/torch/autograd/function.py, line 2, in apply, \n g()"}));
  EXPECT_FALSE(IsRecomputationStack({"File /m/train.py, line 9, in backward, \n f()"}));
  EXPECT_FALSE(IsRecomputationStack({"no frame", ""}));
}

TEST(MatchTest, OtherAncestorsDoNotMatchUnlessFuzzy) {
  const DumpFolder left = Folder(
      R"({"Module.a.A.forward.0": null, "Module.b.B.forward.0": "Module.a.A.forward.0",
          "Torch.mm.3.forward": "Module.b.B.forward.0", "Torch.mm.4.forward": "Module.b.B.forward.0"})");
  const DumpFolder right =
      Folder(R"({"Module.b.B.forward.0": null, "Torch.mm.0.forward": "Module.b.B.forward.0"})");
  const Graph target = BuildGraph(left);
  const Graph golden = BuildGraph(right);
  const auto b = static_cast<size_t>(target.Find("Module.b.B.forward.0"));
  EXPECT_EQ(MatchGraphs(target, golden, {})[b], kNoNode);
  const NodeMatches fuzzy = MatchGraphs(target, golden, {.fuzzy = true});
  EXPECT_EQ(fuzzy[b], golden.Find("Module.b.B.forward.0"));
  EXPECT_EQ(fuzzy[static_cast<size_t>(target.Find("Torch.mm.3.forward"))],
            golden.Find("Torch.mm.0.forward"));
  EXPECT_EQ(fuzzy[static_cast<size_t>(target.Find("Torch.mm.4.forward"))], kNoNode);
}

// One call on both sides; its node's precision and the fields of its first input.
struct OneCall {
  OneCall(const std::string& name, const std::string& target_io, const std::string& golden_io)
      : left(Folder(R"({"Module.a.A.forward.0": null, ")" + name + R"(": "Module.a.A.forward.0"})",
                    "{" + CallOf(name, target_io, target_io) + "}")),
        right(Folder(R"({"Module.a.A.forward.0": null, ")" + name + R"(": "Module.a.A.forward.0"})",
                     "{" + CallOf(name, golden_io, golden_io) + "}")),
        target(BuildGraph(left)),
        golden(BuildGraph(right)) {
    const NodeMatches matches = MatchGraphs(target, golden, {});
    results = CompareGraphs(target, golden, matches, Mode::kStatistics, false, {});
    const auto node = static_cast<size_t>(target.Find(name));
    precision = results.precision[node];
    AppendNodeData(*left.dump, target.nodes()[node].api, {false, false, &results}, &inputs);
  }
  DumpFolder left;
  DumpFolder right;
  Graph target;
  Graph golden;
  NodeResults results;
  Precision precision;
  std::string inputs;
};

TEST(NodeResultTest, DifferencesFollowTheGraphsConventions) {
  const OneCall call("Torch.mm.0.forward", TensorOf("3.0", "7"), TensorOf("0.0", "3"));
  EXPECT_NE(call.inputs.find(R"("Max diff": "3.0", "Min diff": "0.0")"), std::string::npos)
      << call.inputs;
  EXPECT_NE(call.inputs.find(R"("L2norm diff": "4", "MaxRelativeErr": "N/A")"), std::string::npos);
  EXPECT_NE(call.inputs.find(R"("MinRelativeErr": "N/A", "MeanRelativeErr": "0.0%")"),
            std::string::npos);
  EXPECT_NE(call.inputs.find(R"("NormRelativeErr": "133.333333%")"), std::string::npos);
}

TEST(NodeResultTest, SmallPercentagesKeepTheirDigits) {
  const OneCall call("Torch.mm.0.forward", TensorOf("1.0000001"), TensorOf("1.0"));
  EXPECT_NE(call.inputs.find(R"("MaxRelativeErr": "1.000000)"), std::string::npos) << call.inputs;
  EXPECT_NE(call.inputs.find("e-05%"), std::string::npos) << call.inputs;
}

TEST(NodeResultTest, MissingNumbersHaveNoDifference) {
  const OneCall call("Torch.mm.0.forward", TensorOf("NaN"), TensorOf("1.0"));
  EXPECT_NE(call.inputs.find(R"("Max diff": "Nan")"), std::string::npos) << call.inputs;
  EXPECT_EQ(call.precision, Precision::kError);
}

TEST(NodeResultTest, UndefinedMemoryIsNotJudged) {
  EXPECT_EQ(OneCall("Torch.empty.0.forward", TensorOf("NaN"), TensorOf("1.0")).precision,
            Precision::kPass);
  EXPECT_EQ(OneCall("Torch.mm.0.forward", TensorOf("1.0", "1.0", "torch.int32"), TensorOf("1.0"))
                .precision,
            Precision::kError);
}

TEST(NodeResultTest, DecimalsAreCutToSix) {
  for (const auto& [text, expected] :
       std::vector<std::pair<std::string, std::string>>{{"1.0109000000001%", "1.010900%"},
                                                        {"1.25%", "1.25%"},
                                                        {"-1.12345678", "-1.12345678"},
                                                        {"1e-05%", "1e-05%"},
                                                        {"0.1234567", "0.123457"},
                                                        {"1.0.1234567", "1.0.1234567"},
                                                        {"abc", "abc"},
                                                        {"", ""}}) {
    std::string got = text;
    ShortenDecimals(&got);
    EXPECT_EQ(got, expected);
  }
}

TEST(NodeJsonTest, EverythingIsAsciiText) {
  std::string out;
  AppendAsciiJson("a\"\\\n\x01 \xC3\xA9 \xF0\x9F\x98\x80 \xFF", &out);
  EXPECT_EQ(out, R"("a\"\\\n\u0001 \u00e9 \ud83d\ude00 \ufffd")");
}

TEST(NodeJsonTest, RecordsKeepTheirOrderAndGetWhatIsMissing) {
  const DumpFolder folder =
      Folder(R"({"Torch.x.0.forward": null})",
             R"({"Torch.x.0.forward": {"input_args": [{"type": "int", "value": 3}, null,
          {"type": "torch.ProcessGroup", "group_ranks": [0, 1], "group_id": "g", "extra": 1}],
          "input_kwargs": {"mode": {"type": "str", "value": "it's None"}}, "output": []}})");
  std::string out;
  AppendNodeData(*folder.dump, 0, {}, &out);
  EXPECT_EQ(
      out,
      R"({"Torch.x.0.forward.input.0": {"type": "int", "value": "3", "data_name": "-1", )"
      R"("requires_grad": "null", "Max": "3", "Min": "3", "Mean": "3", "Norm": "3", )"
      R"("dtype": "<class int>", "shape": "[]"}, "Torch.x.0.forward.input.1": {"value": "null"}, )"
      R"("Torch.x.0.forward.input.2": {"type": "torch.ProcessGroup", "group_ranks": "[0, 1]", )"
      R"("group_id": "g", "data_name": "-1"}, "Torch.x.0.forward.input.mode": {"type": "str", )"
      R"("value": "its null", "data_name": "-1", "requires_grad": "null", "Max": "its null", )"
      R"("Min": "its null", "Mean": "its null", "Norm": "its null", "dtype": "<class str>", )"
      R"("shape": "[]"}})");
}

Overflow LevelOf(const std::string& name, const std::string& input, const std::string& output) {
  const auto dump = DumpOf("{" + CallOf(name, input, output) + "}");
  return OverflowOf(*dump, dump->apis()[0]);
}

TEST(OverflowTest, LevelsByWhatIsBad) {
  const std::string good = TensorOf("1.0");
  const std::string bad = TensorOf("Infinity");
  EXPECT_EQ(LevelOf("Torch.mm.0.forward", good, good), Overflow::kNone);
  EXPECT_EQ(LevelOf("Torch.mm.0.forward", good, bad), Overflow::kCritical);
  EXPECT_EQ(LevelOf("Torch.mm.0.forward", bad, bad), Overflow::kHigh);
  EXPECT_EQ(LevelOf("Torch.mm.0.forward", bad, good), Overflow::kMedium);
  EXPECT_EQ(LevelOf("Torch.mm.0.forward", good, TensorOf("1.0", "100.5")), Overflow::kHigh);
  EXPECT_EQ(LevelOf("Torch.mm.0.forward", good, TensorOf("1.0", "100.0")), Overflow::kNone);
  EXPECT_EQ(LevelOf("Torch.mm.0.forward", TensorOf("1.0", "0"), TensorOf("1.0", "100.5")),
            Overflow::kHigh);
}

TEST(OverflowTest, UndefinedBuffersDoNotCount) {
  const std::string good = TensorOf("1.0");
  const std::string bad = TensorOf("NaN");
  // Where only the output may be undefined, nobody asks for the input.
  EXPECT_EQ(LevelOf("Torch.empty_like.0.forward", good + ", " + bad, good), Overflow::kNone);
  EXPECT_EQ(LevelOf("Torch.empty.0.forward", good, bad), Overflow::kNone);
  EXPECT_EQ(LevelOf("Distributed.all_gather.0.forward", bad, good), Overflow::kNone);
  EXPECT_EQ(LevelOf("Distributed.all_gather.0.forward", good + ", " + bad, good),
            Overflow::kMedium);
  EXPECT_EQ(LevelOf("Tensor.masked_fill_.0.forward", bad, bad), Overflow::kNone);
}

TEST(NodeJson, EveryByteIsEscapedWhereItStands) {
  for (size_t before = 0; before < 20; ++before) {
    for (int byte = 0; byte < 0x80; ++byte) {
      const std::string plain(before, 'x');
      std::string text = plain;
      text.push_back(static_cast<char>(byte));
      text += plain;
      std::string out;
      AppendAsciiJson(text, &out);
      JsonScanner json(out, "test");
      EXPECT_EQ(json.String(), text) << byte << " behind " << before;
      const bool escaped = byte < 0x20 || byte == '"' || byte == '\\';
      EXPECT_EQ(out.size() > text.size() + 2, escaped) << byte;
    }
    std::string out;
    AppendAsciiJson(std::string(before, 'x') + "\u00e9", &out);
    EXPECT_EQ(out, "\"" + std::string(before, 'x') + "\\u00e9\"");
  }
}

}  // namespace
}  // namespace sonde::precision
