#include "precision/dump/dump_file.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "precision/test_support.h"

namespace sonde::precision {
namespace {

constexpr const char* kTensor =
    R"({"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2, 3], "Max": 1.0, "Min": 0.0,
        "Mean": NaN, "Norm": -Infinity, "requires_grad": true})";

std::vector<std::string> Names(const DumpFile& dump) {
  std::vector<std::string> names;
  for (const DumpRow& row : dump.rows()) names.emplace_back(row.name);
  return names;
}

TEST(DumpFileTest, RowsStandInTheOrderOfTheReference) {
  const std::string t = kTensor;
  const auto dump =
      DumpOf(R"({"Module.a.Linear.forward.0": {"output": [)" + t + R"(], "input_args": [)" + t +
             R"(, [)" + t + R"(]], "input_kwargs": {"k": )" + t + R"(}, "parameters": {"w": )" + t +
             R"(}, "is_recompute": false},
                           "Module.a.Linear.parameters_grad.0": {"w": [)" +
             t + "]}}");
  ASSERT_NE(dump, nullptr);
  EXPECT_EQ(Names(*dump),
            (std::vector<std::string>{
                "Module.a.Linear.forward.0.input.0", "Module.a.Linear.forward.0.input.1.0",
                "Module.a.Linear.forward.0.input.k", "Module.a.Linear.forward.0.parameters.w",
                "Module.a.Linear.forward.0.output.0", "Module.a.Linear.parameters_grad.0.w"}));
  const DumpRow& row = dump->rows()[0];
  EXPECT_EQ(row.dtype, "torch.float32");
  EXPECT_EQ(row.shape, "[2, 3]");
  EXPECT_EQ(row.requires_grad, "True");
  EXPECT_TRUE(row.stats[kMean].IsNan());
  EXPECT_TRUE(row.stats[kNorm].IsInfinite());
  EXPECT_EQ(dump->apis().size(), 2U);
  EXPECT_EQ(dump->apis()[1].first_row, 5U);
}

struct LeafCase {
  const char* record;
  const char* dtype;
  const char* shape;
  const char* value;
  const char* checksum;
};

TEST(DumpFileTest, EveryKindOfLeaf) {
  // Checksums are zlib's CRC-32 of the text of the value.
  const std::vector<LeafCase> cases = {
      {R"({"type": "int", "value": 3})", "<class 'int'>", "[]", "3", "6dd28e9b"},
      {R"({"type": "bool", "value": true})", "<class 'bool'>", "[]", "True", "5dcee3b3"},
      {R"({"type": "str", "value": "abc"})", "<class 'str'>", "[]", "abc", "352441c2"},
      {R"({"type": "float32", "value": 1.5})", "<class 'float'>", "[]", "1.5", "875c9bba"},
      {R"({"type": "torch.dtype", "value": "torch.float32"})", "<class 'str'>", "[]",
       "torch.float32", "d8ca9648"},
      {R"({"type": "torch.Size", "value": [2, 3]})", "torch.Size", "[2, 3]", "None", "3f72ac6e"},
      {R"({"type": "slice", "value": [1, null, 2]})", "slice", "(3,)", "None", "008e98d6"},
      {R"({"type": "ellipsis", "value": "..."})", "ellipsis", "[]", "...", "1a43b61b"},
      {R"({"type": "torch.memory_format", "format": "contiguous_format"})", "<class 'NoneType'>",
       "[]", "None", "00000000"},
      {R"({"type": "torch.ProcessGroup", "group_ranks": [0, 1], "group_id": "x"})",
       "torch.ProcessGroup", "[]", "[0, 1]", "[0, 1]"},
      {"null", "", "", "None", "N/A"},
      {"5", "<class 'int'>", "[]", "5", ""},
  };
  for (const LeafCase& leaf : cases) {
    const auto dump =
        DumpOf(R"({"Torch.f.0.forward": {"input_args": [)" + std::string(leaf.record) + "]}}");
    ASSERT_NE(dump, nullptr) << leaf.record;
    ASSERT_EQ(dump->rows().size(), 1U) << leaf.record;
    const DumpRow& row = dump->rows()[0];
    EXPECT_EQ(row.dtype, leaf.dtype) << leaf.record;
    EXPECT_EQ(row.shape, leaf.shape) << leaf.record;
    EXPECT_EQ(row.stats[kMax].PythonText(), leaf.value) << leaf.record;
    if (*leaf.checksum != '\0') {
      EXPECT_EQ(ChecksumText(row), leaf.checksum) << leaf.record;
    }
  }
}

TEST(DumpFileTest, PeersDataNamesAndPointToPointOperations) {
  const auto dump = DumpOf(
      R"({"Distributed.isend.0.forward": {"input_args": [
           [{"class_type": "torch.distributed.P2POp", "tensor": {"type": "torch.Tensor",
             "dtype": "torch.float32", "shape": [1], "Max": 1.0}, "op": "isend", "peer": 1}],
           {"type": "torch.Tensor", "dtype": "torch.float32", "shape": [],
            "data_name": "Distributed.isend.0.forward.kwargs.x.pt"}],
           "input_kwargs": {"dst": {"type": "int", "value": 2}}, "output": null}})");
  ASSERT_NE(dump, nullptr);
  EXPECT_EQ(Names(*dump),
            (std::vector<std::string>{
                "Distributed.isend.0.forward.input.0.0", "Distributed.isend.0.forward.kwargs.x",
                "Distributed.isend.0.forward.input.dst", "Distributed.isend.0.forward.output"}));
  EXPECT_EQ(dump->rows()[1].data_name, "Distributed.isend.0.forward.kwargs.x.pt");
  EXPECT_EQ(dump->rows()[2].dtype, "int");
  EXPECT_EQ(ChecksumText(dump->rows()[2]), "2");
  EXPECT_EQ(dump->rows()[3].kind, LeafKind::kNone);
}

TEST(DumpFileTest, DebugEntriesAreReadAsTheyAre) {
  const auto dump = DumpOf(
      R"({"bag.0.debug": {"ids": {"type": "int", "value": 1}, "pair": [null, [2]]}, "x.1.debug": null})");
  ASSERT_NE(dump, nullptr);
  EXPECT_EQ(Names(*dump), (std::vector<std::string>{"bag.0.debug.ids", "bag.0.debug.pair.0",
                                                    "bag.0.debug.pair.1.0", "x.1.debug"}));
}

TEST(DumpFileTest, BadFilesAreRefusedInOneLine) {
  EXPECT_EQ(DumpFile::Load("/nonexistent/dump.json").status().code(), StatusCode::kNotFound);
  for (const char* text : {"", "[]", "{}", R"({"data": 3})", R"({"data": {"a": {"input": [)"}) {
    const auto dump = DumpFile::Parse(text, "bad.json");
    ASSERT_FALSE(dump.ok()) << text;
    EXPECT_TRUE(dump.status().message().starts_with("bad.json: ")) << dump.status().message();
  }
}

TEST(DumpFileTest, EntriesBeforeACutAreRead) {
  const std::string head = R"({"task": "statistics", "data": {)";
  const std::string first = R"("a.forward": {"input": [null, {"type": "int", "value": 3}]})";
  const std::string second = R"(, "b.forward": {"output": [{"type": "str", "value": "x"}]})";
  const std::string text = head + first + second + "}}";
  for (size_t size = 0; size < text.size(); ++size) {
    const std::string_view cut = std::string_view(text).substr(0, size);
    const auto dump = DumpFile::Parse(cut, "cut.json");
    if (size < head.size() + first.size()) {
      EXPECT_FALSE(dump.ok()) << cut;
      continue;
    }
    ASSERT_TRUE(dump.ok()) << cut << ": " << dump.status().message();
    EXPECT_TRUE((*dump)->is_cut_off()) << cut;
    const bool has_second = size >= head.size() + first.size() + second.size();
    EXPECT_EQ((*dump)->apis().size(), has_second ? 2U : 1U) << cut;
    EXPECT_EQ((*dump)->rows().size(), has_second ? 3U : 2U) << cut;
  }
  const auto whole = DumpFile::Parse(text, "whole.json");
  ASSERT_TRUE(whole.ok());
  EXPECT_FALSE((*whole)->is_cut_off());
  const auto garbled = DumpFile::Parse(head + first + ", 7}}", "garbled.json");
  EXPECT_FALSE(garbled.ok());
}

}  // namespace
}  // namespace sonde::precision
