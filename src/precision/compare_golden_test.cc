// Our csv against the reference's, cell by cell, on the shared sets.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/test_folder.h"
#include "precision/compare_job.h"
#include "precision/test_support.h"

namespace sonde::precision {
namespace {

struct Set {
  const char* name;
  const char* target;
  const char* golden;
  const char* reference;
  const char* prefix = "compare_result";
  const char* mapping = "";  // cm, am, lm
};

constexpr const char* kCrossTarget =
    "precision_26_2/mindspore/cross_mix_statistics_statistics_b1/target/step0";
constexpr const char* kCrossGolden =
    "precision_26_2/mindspore/cross_mix_statistics_statistics_b1/golden/step0";

const Set kSets[] = {
    {"resnet50", "precision/resnet50_gpu_mix/step0/proc2016",
     "precision/resnet50_gpu_mix/step1/proc2016", "precision/resnet50_gpu_mix_reference_result"},
    {"qwen_L0", "precision/qwen_like/L0_statistics_statistics_b1/target/step0",
     "precision/qwen_like/L0_statistics_statistics_b1/golden/step0",
     "precision/qwen_like/L0_statistics_statistics_b1/reference_result"},
    {"qwen_mix", "precision/qwen_like/mix_statistics_statistics_b0/target/step0",
     "precision/qwen_like/mix_statistics_statistics_b0/golden/step0",
     "precision/qwen_like/mix_statistics_statistics_b0/reference_result"},
    {"qwen_md5", "precision/qwen_like/mix_statistics_md5_b0/target/step0",
     "precision/qwen_like/mix_statistics_md5_b0/golden/step0",
     "precision/qwen_like/mix_statistics_md5_b0/reference_result"},
    {"torch_mix", "precision_26_2/torch/mix_statistics_statistics_b1/target/step0",
     "precision_26_2/torch/mix_statistics_statistics_b1/golden/step0",
     "precision_26_2/torch/mix_statistics_statistics_b1/reference_result"},
    {"torch_md5", "precision_26_2/torch/L1_statistics_md5_b1/target/step0",
     "precision_26_2/torch/L1_statistics_md5_b1/golden/step0",
     "precision_26_2/torch/L1_statistics_md5_b1/reference_result"},
    {"qwen_tensor", "precision/qwen_like/mix_tensor_statistics_b0/target/step0",
     "precision/qwen_like/mix_tensor_statistics_b0/golden/step0",
     "precision/qwen_like/mix_tensor_statistics_b0/reference_result"},
    {"torch_tensor", "precision_26_2/torch/L0_tensor_statistics_b1/target/step0",
     "precision_26_2/torch/L0_tensor_statistics_b1/golden/step0",
     "precision_26_2/torch/L0_tensor_statistics_b1/reference_result"},
    {"torch_debug", "precision_26_2/torch/debug_tensor_statistics_b1/target/step0",
     "precision_26_2/torch/debug_tensor_statistics_b1/golden/step0",
     "precision_26_2/torch/debug_tensor_statistics_b1/reference_result", "debug_compare_result"},
    {"mindspore_tensor", "precision_26_2/mindspore/L0_tensor_statistics_b1/target/step0",
     "precision_26_2/mindspore/L0_tensor_statistics_b1/golden/step0",
     "precision_26_2/mindspore/L0_tensor_statistics_b1/reference_result"},
    {"cross_cells", kCrossTarget, kCrossGolden,
     "precision_26_2/mindspore/cross_mix_statistics_statistics_b1/reference_result/cm",
     "compare_result", "cm"},
    {"cross_apis", kCrossTarget, kCrossGolden,
     "precision_26_2/mindspore/cross_mix_statistics_statistics_b1/reference_result/am",
     "compare_result", "am"},
    {"cross_layers", kCrossTarget, kCrossGolden,
     "precision_26_2/mindspore/cross_mix_statistics_statistics_b1/reference_result/lm",
     "compare_result", "lm"},
};

class CompareGoldenTest : public testing::TestWithParam<Set> {};

// Older pandas lost last digits and wrote None for N/A; numbers are compared as numbers.
bool SameCell(const std::string& ours, const std::string& reference, double operand) {
  if (ours == reference) return true;
  if ((ours == "None" && reference == "N/A") || (ours == "N/A" && reference == "None")) return true;
  if (ours.ends_with('%') != reference.ends_with('%')) return false;
  const auto number = [](std::string_view text) {
    if (text.ends_with('%')) text.remove_suffix(1);
    return base::ParseDouble(text);
  };
  const auto a = number(ours);
  const auto b = number(reference);
  if (!a || !b) return false;
  return std::abs(*a - *b) <= 1e-6 * std::max({std::abs(*a), std::abs(*b), operand});
}

// Across frameworks the reference pairs the backward calls of an API with those of other places,
// and calls every matched row an error (docs/precision.md).
bool IsExempt(bool cross, const std::string& name, const std::string& column) {
  if (!cross) return false;
  const bool backward_api =
      name.find(".backward") != std::string::npos && !name.starts_with("Cell.");
  return backward_api || column == "Result" || column == "Err_message";
}

void ExpectSameTables(const std::vector<CsvRow>& ours, const std::vector<CsvRow>& reference,
                      bool cross) {
  ASSERT_FALSE(ours.empty());
  ASSERT_FALSE(reference.empty());
  EXPECT_EQ(ours[0], reference[0]);
  ASSERT_GE(ours.size(), reference.size());
  for (size_t r = 1; r < reference.size(); ++r) {
    ASSERT_EQ(ours[r].size(), reference[r].size()) << "row " << r;
    for (size_t c = 0; c < reference[r].size(); ++c) {
      // A difference is known only as well as its operands: columns NPU max ... Bench l2norm.
      const std::string& column = reference[0][c];
      if (IsExempt(cross, reference[r][0], column)) continue;
      double operand = column.ends_with("RelativeErr") ? 100 : 0;
      if (column.ends_with(" diff")) {
        operand = std::abs(base::ParseDouble(reference[r][c + 8]).value_or(0));
      }
      EXPECT_TRUE(SameCell(ours[r][c], reference[r][c], operand))
          << "row " << r << " " << reference[r][0] << ", " << column << ": " << ours[r][c]
          << " instead of " << reference[r][c];
    }
  }
  for (size_t r = reference.size(); r < ours.size(); ++r) {
    EXPECT_EQ(ours[r][0], "N/A") << "only rows of the golden dump may follow";
  }
}

TEST_P(CompareGoldenTest, EqualsTheReference) {
  const Set& set = GetParam();
  CompareOptions options;
  options.target_path = SharedData(set.target);
  options.golden_path = SharedData(set.golden);
  if (options.target_path.empty()) GTEST_SKIP() << "needs data";
  const base::TestFolder folder;
  options.output_path = folder.path();
  const std::string mapping = set.mapping;
  if (mapping == "cm") options.mapping.cells = "";
  if (mapping == "am") options.mapping.apis = "";
  if (mapping == "lm") options.mapping.layers = "";
  const auto outcome = RunCompare(options);
  ASSERT_TRUE(outcome.ok()) << outcome.status().ToString();
  ASSERT_EQ(outcome->pairs.size(), 1U);
  ASSERT_TRUE(outcome->pairs[0].status.ok()) << outcome->pairs[0].status.ToString();
  ExpectSameTables(ReadCsv(outcome->pairs[0].files[0]),
                   ReadCsv(FindOne(SharedData(set.reference), set.prefix, ".csv")),
                   !mapping.empty());
}

INSTANTIATE_TEST_SUITE_P(Sets, CompareGoldenTest, testing::ValuesIn(kSets),
                         [](const auto& set) { return std::string(set.param.name); });

TEST(CompareJobTest, ResnetCounts) {
  CompareOptions options;
  options.target_path = SharedData("precision/resnet50_gpu_mix/step0");
  options.golden_path = SharedData("precision/resnet50_gpu_mix/step1");
  if (options.target_path.empty()) GTEST_SKIP() << "needs data";
  const base::TestFolder folder;
  options.output_path = folder.path();
  const auto outcome = RunCompare(options);
  ASSERT_TRUE(outcome.ok()) << outcome.status().ToString();
  const Summary& summary = outcome->pairs[0].summary;
  EXPECT_EQ(summary.target_rows, 2822U);
  EXPECT_EQ(summary.unmatched, 161U);
  EXPECT_EQ(summary.golden_only, 161U);
  EXPECT_EQ(summary.pass, 2756U);
  EXPECT_EQ(summary.warning, 63U);
  EXPECT_EQ(summary.error, 3U);
  EXPECT_EQ(summary.module, "Module.layer1.0.relu.ReLU.forward.0");
}

}  // namespace
}  // namespace sonde::precision
