#include "precision/output/conclusion.h"

#include <gtest/gtest.h>

namespace sonde::precision {
namespace {

PairFinding FindingAt(int64_t step, int64_t rank, CauseKind kind, const char* place) {
  PairFinding out;
  out.is_compared = true;
  out.step = step;
  out.rank = rank;
  out.is_training = true;
  out.cause.kind = kind;
  out.cause.place = place;
  return out;
}

TEST(ConclusionTest, OneLineForAllStepsAndRanks) {
  constexpr const char* kNorm = "Functional.layer_norm.0.forward.input.4";
  std::vector<PairFinding> pairs;
  for (const int64_t step : {0, 1}) {
    for (const int64_t rank : {0, 1}) {
      pairs.push_back(FindingAt(step, rank, CauseKind::kArgument, kNorm));
      pairs.back().detail = "0.01 against 1e-06";
      pairs.back().source = "modeling_qwen3.py:60";
    }
  }
  const Conclusion all = ConcludeAll(pairs);
  EXPECT_TRUE(all.differs);
  EXPECT_EQ(all.first, 0U);
  EXPECT_EQ(all.line,
            "step 0, all ranks, argument differs at Functional.layer_norm.0.forward.input.4: "
            "0.01 against 1e-06 (modeling_qwen3.py:60); later steps follow from it. Compare the "
            "configurations of both runs.");
  EXPECT_TRUE(all.further.empty());
}

TEST(ConclusionTest, WhatTheFirstDoesNotExplainHasALineOfItsOwn) {
  std::vector<PairFinding> pairs = {
      FindingAt(0, 0, CauseKind::kOtherRank, "Distributed.all_reduce.0.forward"),
      FindingAt(0, 1, CauseKind::kOperator, "Functional.linear.3.forward.output.0"),
      FindingAt(1, 0, CauseKind::kWeight, "Functional.linear.0.forward.input.1"),
      FindingAt(1, 1, CauseKind::kDtype, "Functional.linear.5.forward.input.0")};
  pairs[1].cause.module = "Module.mlp.up.Linear.forward.0";
  const Conclusion found = ConcludeAll(pairs);
  EXPECT_EQ(found.first, 1U);
  EXPECT_EQ(found.line,
            "step 0, rank 1, operator differs at Functional.linear.3.forward.output.0 in mlp.up; "
            "later steps follow from it. Run this one call by itself on both sides, with its "
            "tensors saved (task tensor).");
  ASSERT_EQ(found.further.size(), 1U);
  EXPECT_TRUE(found.further[0].starts_with("step 1, rank 1: element type differs"));
  // Without training no step changes the next one.
  for (PairFinding& pair : pairs) pair.is_training = false;
  EXPECT_EQ(ConcludeAll(pairs).further.size(), 2U);
}

TEST(ConclusionTest, NothingDiffersAndWhatWasNotCompared) {
  std::vector<PairFinding> pairs = {FindingAt(0, 0, CauseKind::kIdentical, "")};
  EXPECT_EQ(ConcludeAll(pairs).line, "none: all compared values are equal");
  pairs.push_back(FindingAt(1, 0, CauseKind::kRounding, ""));
  pairs.back().cause.unreadable = 3;
  EXPECT_FALSE(ConcludeAll(pairs).differs);
  EXPECT_EQ(ConcludeAll(pairs).line,
            "none: nothing but rounding differs; 3 values were not compared");
  pairs.back().cause.hides_elements = true;
  EXPECT_EQ(ConcludeAll(pairs).line,
            "none: nothing but rounding differs; single wrong elements do not show in statistics "
            "of 16-bit types (dump tensors); 3 values were not compared");
}

TEST(ConclusionTest, TheSourceIsTheProgramsInnermostLine) {
  const auto stack = StackFile::Parse(
      R"({"0": [["Functional.linear.0.forward"], ["File /v/torch/nn/modules/linear.py, line 134, in forward, \n x",)"
      R"("File /w/model.py, line 60, in forward, \n y", "File /w/main.py, line 3, in main, \n z"]]})",
      "stack.json");
  ASSERT_TRUE(stack.ok());
  EXPECT_EQ(SourceOf(**stack, "Functional.linear.0.forward"), "model.py:60");
  EXPECT_EQ(SourceOf(**stack, "Functional.linear.1.forward"), "");
}

TEST(ConclusionTest, ALibraryOfModelsIsTheProgramWhereverItLies) {
  const auto stack = StackFile::Parse(
      R"({"0": [["Torch.rsqrt.0.forward"], ["File /h/sonde/v/site-packages/torch/nn/modules/module.py, line 9, in f, \n x",)"
      R"("File /h/sonde/v/site-packages/transformers/models/qwen3/modeling_qwen3.py, line 60, in forward, \n y",)"
      R"("File /w/torch/main.py, line 3, in main, \n z"]]})",
      "stack.json");
  ASSERT_TRUE(stack.ok());
  EXPECT_EQ(SourceOf(**stack, "Torch.rsqrt.0.forward"), "modeling_qwen3.py:60");
}

}  // namespace
}  // namespace sonde::precision
