#include "precision/compare/rules.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace sonde::precision {
namespace {

// One API with one input and one output row, alike on both sides.
struct Api {
  std::array<DumpRow, 2> target;
  std::array<DumpRow, 2> golden;
  std::vector<ComparedRow> rows = std::vector<ComparedRow>(2);

  explicit Api(const std::string& api = "Torch.mm.0.forward") {
    names = {api + ".input.0", api + ".output.0"};
    for (size_t i = 0; i < 2; ++i) {
      for (DumpRow* row : {&target[i], &golden[i]}) {
        row->kind = LeafKind::kTensor;
        row->name = names[i];
        row->dtype = "torch.float32";
        row->shape = "[2]";
        row->requires_grad = "True";
        for (Value& stat : row->stats) stat = Value::Float(1.0);
      }
      rows[i].target = &target[i];
      rows[i].golden = &golden[i];
      rows[i].cells.fill(Cell::Percent(0));
    }
  }
  Verdict Judge(Mode mode, const RuleSet& rules = {}) {
    JudgeApi(mode, rules, rows);
    return std::max(rows[0].verdict, rows[1].verdict);
  }
  void SetNormError(double input, double output) {
    rows[0].cells[7] = Cell::Percent(input);
    rows[1].cells[7] = Cell::Percent(output);
  }

  std::array<std::string, 2> names;
};

TEST(RulesTest, EqualRowsPass) {
  Api api;
  EXPECT_EQ(api.Judge(Mode::kStatistics), Verdict::kPass);
  EXPECT_EQ(MessageList(api.rows[0]), "[]");
}

TEST(RulesTest, OverflowOnlyOnTheTargetIsAnError) {
  Api api;
  api.target[1].stats[kMin] = Value::FromLiteral("-Infinity");
  EXPECT_EQ(api.Judge(Mode::kStatistics), Verdict::kError);
  EXPECT_TRUE(api.rows[1].Has(Message::kOverflow));
  Api both;
  both.target[1].stats[kMax] = Value::FromLiteral("NaN");
  both.golden[1].stats[kMin] = Value::FromLiteral("Infinity");
  EXPECT_EQ(both.Judge(Mode::kStatistics), Verdict::kPass);
  Api unmatched;
  unmatched.target[0].stats[kMax] = Value::FromLiteral("NaN");
  unmatched.rows[0].golden = nullptr;
  EXPECT_EQ(unmatched.Judge(Mode::kTensor), Verdict::kError);
}

TEST(RulesTest, RelativeErrorOfOutputs) {
  Api api;
  api.SetNormError(9.9, 50.1);
  EXPECT_EQ(api.Judge(Mode::kStatistics), Verdict::kError);
  EXPECT_TRUE(api.rows[1].Has(Message::kRelativeError));
  Api bad_input;
  bad_input.SetNormError(10.0, 60.0);
  EXPECT_EQ(bad_input.Judge(Mode::kStatistics), Verdict::kPass);
  Api infinite;
  infinite.rows[1].cells[7] = Cell::Of(Cell::Kind::kInf);
  EXPECT_EQ(infinite.Judge(Mode::kStatistics), Verdict::kError);
  EXPECT_FALSE(infinite.rows[1].Has(Message::kNormGrowth));
  Api nan;
  nan.rows[1].cells[7] = Cell::Of(Cell::Kind::kNan);
  EXPECT_EQ(nan.Judge(Mode::kStatistics), Verdict::kPass);
}

TEST(RulesTest, NormGrowth) {
  Api api;
  api.SetNormError(1.0, 10.1);
  EXPECT_EQ(api.Judge(Mode::kStatistics), Verdict::kWarning);
  Api exactly_ten;
  exactly_ten.SetNormError(1.0, 10.0);
  EXPECT_EQ(exactly_ten.Judge(Mode::kStatistics), Verdict::kPass);
  Api from_zero;
  from_zero.SetNormError(0.0, 10.1);
  EXPECT_EQ(from_zero.Judge(Mode::kStatistics), Verdict::kWarning);
}

TEST(RulesTest, FieldsOfMatchedRows) {
  Api grad;
  grad.golden[0].requires_grad = "";
  EXPECT_EQ(grad.Judge(Mode::kStatistics), Verdict::kError);
  EXPECT_EQ(MessageList(grad.rows[0]),
            R"(["error: The Required_Grad of NPU and Bench are inconsistent"])");
  Api shape;
  shape.golden[1].shape = "[2, 1]";
  EXPECT_EQ(shape.Judge(Mode::kTensor), Verdict::kError);
  Api merged;
  merged.golden[1].shape = "[2, 1]";
  EXPECT_EQ(merged.Judge(Mode::kStatistics, RuleSet{.shape = false}), Verdict::kPass);
  Api dtype;
  dtype.golden[1].dtype = "torch.float16";
  EXPECT_EQ(dtype.Judge(Mode::kTensor), Verdict::kError);
  Api fused;
  fused.golden[0].dtype = "torch.float16";
  fused.names[0] = "Torch.mm.0.forward.input.qkv";
  fused.golden[0].name = fused.names[0];
  EXPECT_EQ(fused.Judge(Mode::kTensor), Verdict::kPass);
}

TEST(RulesTest, FrameworksDifferInDtypeNamesOnly) {
  Api api;
  api.target[0].dtype = "Float32";
  api.target[0].requires_grad = "";
  EXPECT_EQ(api.Judge(Mode::kStatistics, RuleSet::ForFrameworks(true)), Verdict::kPass);
  EXPECT_EQ(DtypeFamily("BFloat16"), "float");
  EXPECT_EQ(DtypeFamily("torch.uint8"), "int");
  EXPECT_EQ(DtypeFamily("<class 'int'>"), "<class 'int'>");
}

TEST(RulesTest, ScalarParameters) {
  Api api;
  for (DumpRow* row : {&api.target[0], &api.golden[0]}) {
    row->dtype = "<class 'int'>";
    row->shape = "[]";
  }
  api.target[0].stats[kMax] = Value::Int(4);
  EXPECT_EQ(api.Judge(Mode::kStatistics), Verdict::kError);
  EXPECT_TRUE(api.rows[0].Has(Message::kScalarParameter));
}

TEST(RulesTest, TensorRatiosAndCosine) {
  Api ratio;
  ratio.rows[0].cells[kOneThousandth] = Cell::Number(0.95);
  ratio.rows[1].cells[kOneThousandth] = Cell::Number(0.05);
  ratio.rows[0].cells[kCosine] = ratio.rows[1].cells[kCosine] = Cell::Number(1);
  EXPECT_EQ(ratio.Judge(Mode::kTensor), Verdict::kError);
  Api cosine;
  for (ComparedRow& row : cosine.rows) {
    row.cells[kOneThousandth] = Cell::Of(Cell::Kind::kUnsupported);
  }
  cosine.rows[0].cells[kCosine] = Cell::Number(0.99);
  cosine.rows[1].cells[kCosine] = Cell::Number(0.8);
  EXPECT_EQ(cosine.Judge(Mode::kTensor), Verdict::kWarning);
  EXPECT_TRUE(cosine.rows[1].Has(Message::kCosineDrop));
}

TEST(RulesTest, Checksums) {
  Api api;
  api.target[0].md5 = "00000001";
  api.golden[0].md5 = "00000002";
  api.target[1].md5 = api.golden[1].md5 = "00000003";
  EXPECT_EQ(api.Judge(Mode::kMd5), Verdict::kError);
  EXPECT_EQ(api.rows[1].verdict, Verdict::kPass);
  Api unmatched;
  unmatched.target[0].md5 = unmatched.golden[0].md5 = "00000001";
  unmatched.target[1].md5 = "00000003";
  unmatched.rows[1].golden = nullptr;
  EXPECT_EQ(unmatched.Judge(Mode::kMd5), Verdict::kWarning);
}

TEST(RulesTest, ApisWithoutRulesAndWithPlaceholders) {
  Api exempt("Torch.empty.0.forward");
  exempt.golden[1].shape = "[9]";
  EXPECT_EQ(exempt.Judge(Mode::kStatistics), Verdict::kPass);
  Api placeholder("Distributed._all_gather_base.0.forward");
  placeholder.golden[0].shape = "[9]";
  placeholder.SetNormError(0, 90);
  EXPECT_EQ(placeholder.Judge(Mode::kStatistics), Verdict::kPass);
  placeholder.golden[1].shape = "[9]";
  EXPECT_EQ(placeholder.Judge(Mode::kStatistics), Verdict::kError);
}

}  // namespace
}  // namespace sonde::precision
