#include "precision/check/api_check.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/strings.h"
#include "base/test_folder.h"

namespace sonde::precision {
namespace {

// A float32 product of (16 x 64) by (64 x 16): its error grows with the root of 64.
std::string Product(double error, const std::string& more = "") {
  return base::Concat(
      R"({"call": "Torch.matmul.0", "direction": "forward", "index": 0, "dtype": "torch.float32",)",
      R"("shape": [16, 16], "output": [1, 256, 16, 128, 0, 20, 5.960464477539063e-08],)",
      R"("inputs": [[1, 1024, 64, 32, 0, 3, 5.960464477539063e-08],)",
      R"([1, 1024, 16, 32, 0, 3, 5.960464477539063e-08]], "forward": [], "random": false,)",
      R"("places": 0, "not_finite": 0, "error": )", std::to_string(error * 1e6), "e-6", more,
      "}\n");
}

class ApiCheckTest : public ::testing::Test {
 protected:
  ApiCheckOutcome Judge(const std::string& lines) {
    EXPECT_TRUE(base::WriteFileAtomically(folder_.File("numbers.jsonl"), lines).ok());
    auto outcome = JudgeApiCheck(folder_.File("numbers.jsonl"), folder_.File("out.csv"));
    EXPECT_TRUE(outcome.ok()) << outcome.status().message();
    table_ = base::ReadFile(folder_.File("out.csv")).value_or("");
    return std::move(*outcome);
  }
  base::TestFolder folder_;
  std::string table_;
};

TEST_F(ApiCheckTest, ErrorsOfTheSizeOfRoundingAreExplained) {
  const ApiCheckOutcome outcome = Judge(Product(1e-4));
  EXPECT_EQ(outcome.calls, 1U);
  EXPECT_EQ(outcome.results, 1U);
  EXPECT_EQ(outcome.explained, 1U);
  EXPECT_TRUE(outcome.differs.empty());
  EXPECT_NE(table_.find(",rounding\n"), std::string::npos) << table_;
}

TEST_F(ApiCheckTest, LargerOnesAreNamedTheFurthestFirst) {
  const std::string second = base::ReplaceAll(Product(64), "Torch.matmul.0", "Functional.linear.7");
  const ApiCheckOutcome outcome = Judge(Product(0.5) + second);
  ASSERT_EQ(outcome.differs.size(), 2U);
  EXPECT_TRUE(
      outcome.differs[0].starts_with("Functional.linear.7, result 0 (torch.float32 [16,16])"))
      << outcome.differs[0];
  EXPECT_NE(outcome.differs[0].find("relative error 0.5"), std::string::npos) << outcome.differs[0];
}

// Seen on a GPU: Adam's eps of 1e-8, added in float16.
TEST_F(ApiCheckTest, UnderflowIsRounding) {
  const std::string lost =
      R"({"call": "Tensor.add_.0", "direction": "forward", "index": 0, "dtype": "torch.float16",)"
      R"("shape": [256], "output": [1, 256, 256, 1.6e-7, 1e-8, 1e-8, 0.00048828125],)"
      R"("inputs": [[1, 256, 256, 0, 0, 0, 0.00048828125], [0, 1, 1, 1e-8, 1e-8, 1e-8, 0]],)"
      R"("forward": [], "random": false, "places": 0, "not_finite": 0, "error": 1.6e-7})"
      "\n";
  EXPECT_EQ(Judge(lost).explained, 1U) << table_;
  EXPECT_EQ(Judge(base::ReplaceAll(lost, "float16", "float32")).explained, 0U) << table_;
}

TEST_F(ApiCheckTest, AConvolutionInTf32IsNamedAsSuch) {
  const ApiCheckOutcome outcome = Judge(Product(0.03));
  ASSERT_EQ(outcome.differs.size(), 1U);
  EXPECT_NE(outcome.differs[0].find("products in TF32 explain it"), std::string::npos)
      << outcome.differs[0];
  EXPECT_EQ(Judge(Product(32)).differs[0].find("TF32"), std::string::npos);
}

TEST_F(ApiCheckTest, NotFiniteOnOneSideDiffers) {
  const ApiCheckOutcome outcome =
      Judge(base::ReplaceAll(Product(0), R"("not_finite": 0)", R"("not_finite": 3)"));
  ASSERT_EQ(outcome.differs.size(), 1U);
  EXPECT_NE(outcome.differs[0].find("3 elements are NaN or infinite on one side only"),
            std::string::npos);
}

TEST_F(ApiCheckTest, OtherPlacesOfEqualValuesAreNoDifference) {
  const std::string places =
      R"({"call": "Torch.matmul.0", "direction": "forward", "index": 1, "dtype": "torch.int64",)"
      R"("shape": [4], "output": [0, 4, 4, 0, 0, 0, 0], "inputs": [], "forward": [],)"
      R"("random": false, "error": 0, "places": 2, "not_finite": 0})"
      "\n";
  EXPECT_EQ(Judge(Product(0) + places).explained, 2U);
  EXPECT_EQ(Judge(places).differs.size(), 1U);
}

TEST_F(ApiCheckTest, RandomAndSkippedCallsAreCountedAndBrokenLines) {
  const ApiCheckOutcome outcome =
      Judge(base::ReplaceAll(Product(9), R"("random": false)", R"("random": true)") +
            R"({"call": "Tensor.to.0", "not_run": "API to in black list"})"
            "\n{\"call\": \"Tor");
  EXPECT_EQ(outcome.random, 1U);
  EXPECT_EQ(outcome.results, 0U);
  EXPECT_EQ(outcome.not_run, 1U);
  EXPECT_EQ(outcome.first_not_run, "Tensor.to.0: API to in black list");
  EXPECT_EQ(outcome.broken_lines, 1U);
}

TEST_F(ApiCheckTest, AFileThatIsMissingIsNamed) {
  const auto outcome = JudgeApiCheck(folder_.File("none.jsonl"), folder_.File("out.csv"));
  ASSERT_FALSE(outcome.ok());
  EXPECT_NE(outcome.status().message().find("none.jsonl"), std::string::npos);
}

}  // namespace
}  // namespace sonde::precision
