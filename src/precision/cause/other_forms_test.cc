// Rules of the walk about the same work in another form: shapes, pieces, overwritten inputs, and
// values that no recorded call gave.
#include <gtest/gtest.h>

#include "base/strings.h"
#include "precision/cause/rule_run.h"

namespace sonde::precision {
namespace {

using base::Concat;

// A tensor of float32 with the statistics of `norm`, which asks for a gradient or not.
std::string FormTensor(const char* shape, const char* norm, const char* asks = "false") {
  return Concat(R"({"type": "torch.Tensor", "dtype": "torch.float32", "shape": )", shape,
                R"(, "Max": )", norm[0] == 'N' ? norm : "2.0",
                R"(, "Min": -1.0, "Mean": 0.25, "Norm": )", norm, R"(, "requires_grad": )", asks,
                "}");
}

TEST(OtherFormsTest, TheSameNumbersInAnotherShapeAreNoDifference) {
  const auto run = [](const char* shape, const char* norm) {
    return Side{RuleCall("Functional.linear.0.forward",
                         Concat(FormTensor(shape, "5.0"), ",", FormTensor("[8, 8]", "6.0")),
                         FormTensor(shape, norm)),
                ""};
  };
  EXPECT_FALSE(RuleCause(run("[8, 8]", "7.0"), run("[2, 4, 8]", "7.0")).IsFinding());
  const FirstCause other = RuleCause(run("[8, 8]", "9.0"), run("[2, 4, 8]", "7.0"));
  EXPECT_EQ(other.kind, CauseKind::kShape);
  EXPECT_EQ(other.place, "Functional.linear.0.forward.input.0");
  EXPECT_EQ(RuleCause(run("[8, 8]", "7.0"), run("[9, 8]", "7.0")).kind, CauseKind::kShape);
}

TEST(OtherFormsTest, AProductInPiecesIsNoDifferenceWhereTheyJoinToTheSame) {
  const std::string x = FormTensor("[8, 8]", "5.0");
  const auto linear = [&](int number, const char* weight, const std::string& out) {
    return RuleCall(Concat("Functional.linear.", std::to_string(number), ".forward"),
                    Concat(x, ",", FormTensor(weight, "6.0")), out);
  };
  const auto pieces = [&](const char* joined) {
    return Side{linear(0, "[4, 8]", FormTensor("[8, 4]", "3.0")) + "," +
                    linear(1, "[4, 8]", FormTensor("[8, 4]", "3.5")) + "," +
                    RuleCall("Torch.relu.0.forward", FormTensor("[8, 8]", joined), RuleOut()),
                ""};
  };
  const Side whole = {linear(0, "[8, 8]", FormTensor("[8, 8]", "4.5")) + "," +
                          RuleCall("Torch.relu.0.forward", FormTensor("[8, 8]", "4.5"), RuleOut()),
                      ""};
  EXPECT_FALSE(RuleCause(pieces("4.5"), whole).IsFinding());
  EXPECT_TRUE(RuleCause(pieces("5.5"), whole).IsFinding());
}

TEST(OtherFormsTest, TheGradientOfAnOverwrittenInputIsNotCompared) {
  const auto run = [](const char* in_place, const char* norm) {
    const std::string flag = Concat(R"({"inplace": {"type": "bool", "value": )", in_place, "}}");
    return Side{Concat(R"("Functional.relu.0.forward": {"input_args": [)", RuleIn(),
                       R"(], "input_kwargs": )", flag, R"(, "output": [)", RuleOut(),
                       R"(]}, "Functional.relu.0.backward": {"input": [)", RuleIn(),
                       R"(], "output": [)", FormTensor("[8, 8]", norm), "]}"),
                ""};
  };
  EXPECT_FALSE(RuleCause(run("true", "5.0"), run("false", "4.0")).IsFinding());
  EXPECT_EQ(RuleCause(run("false", "5.0"), run("false", "4.0")).kind, CauseKind::kOperator);
  EXPECT_EQ(RuleCause(run("true", "5.0"), run("true", "4.0")).kind, CauseKind::kOperator);
}

TEST(OtherFormsTest, ANumberThatChangesNoRecordedResultIsStated) {
  const auto norm = [](const char* eps, const char* out) {
    return Side{RuleCall("Functional.layer_norm.0.forward",
                         Concat(RuleIn(), R"(, {"type": "float", "value": )", eps, "}"),
                         FormTensor("[8, 8]", out)),
                ""};
  };
  const FirstCause same = RuleCause(norm("0.01", "7.0"), norm("1e-05", "7.0"));
  EXPECT_FALSE(same.IsFinding());
  EXPECT_EQ(same.unseen_argument, "Functional.layer_norm.0.forward.input.1: 0.01 against 1e-05");
  EXPECT_TRUE(RuleCause(norm("0.01", "7.0"), norm("0.01", "7.0")).unseen_argument.empty());
}

TEST(OtherFormsTest, ABufferThatTheCallUpdatesByAnotherNumber) {
  const auto norm = [](const char* mean, const char* momentum) {
    return Side{RuleCall("Functional.batch_norm.0.forward",
                         Concat(RuleIn(), ",", FormTensor("[8]", mean), R"(, {"type": "float", )",
                                R"("value": )", momentum, "}"),
                         RuleOut()),
                ""};
  };
  const CauseOptions later = {.follows_agreement = true};
  const FirstCause cause = RuleCause(norm("3.0", "0.9"), norm("0.4", "0.1"), later);
  EXPECT_EQ(cause.kind, CauseKind::kArgument);
  EXPECT_EQ(cause.place, "Functional.batch_norm.0.forward.input.2");
  EXPECT_NE(RuleCause(norm("3.0", "0.1"), norm("0.4", "0.1"), later).kind, CauseKind::kArgument);
}

TEST(OtherFormsTest, WhatCodeBetweenTwoCallsChangedIsNoInputOfTheProgram) {
  const std::string given = FormTensor("[8, 8]", "7.0");
  const auto run = [&](const std::string& taken) {
    return Side{RuleCall("Functional.linear.0.forward",
                         Concat(RuleIn(), ",", FormTensor("[8, 8]", "6.0")), given) +
                    "," + RuleCall("Functional.gelu.0.forward", taken, RuleOther()),
                ""};
  };
  const FirstCause cause = RuleCause(run(FormTensor("[8, 8]", "9.5")), run(given));
  EXPECT_EQ(cause.kind, CauseKind::kOperator);
  EXPECT_EQ(cause.place, "Functional.gelu.0.forward.input.0");
  EXPECT_NE(cause.evidence[2].find("Functional.linear.0.forward gave"), std::string::npos);
  // A value that no call gave in either run is one of the program, unless a gradient is asked of
  // it.
  const FirstCause outside =
      RuleCause(run(FormTensor("[8, 8]", "9.5")), run(FormTensor("[8, 8]", "9.0")));
  EXPECT_EQ(outside.kind, CauseKind::kInput);
  const FirstCause computed =
      RuleCause(run(FormTensor("[8, 8]", "9.5", "true")), run(FormTensor("[8, 8]", "9.0", "true")));
  EXPECT_EQ(computed.kind, CauseKind::kOperator);
  for (const char* asks : {"true", "false"}) {  // NaN is no input of the program, either
    EXPECT_EQ(RuleCause(run(FormTensor("[8, 8]", "NaN", asks)), run(given)).kind,
              CauseKind::kNotFinite);
  }
}

TEST(OtherFormsTest, AVectorThatNoCallGaveInAModuleIsAWeightOfIt) {
  const auto run = [](const char* norm) {
    return Side{
        RuleCall("Torch.rsqrt.0.forward", RuleIn(), RuleOut()) + "," +
            RuleCall("Tensor.__radd__.0.forward",
                     Concat(FormTensor("[8]", norm), R"(, {"type": "float", "value": 1.0})"),
                     FormTensor("[8]", norm)) +
            "," + RuleCall("Module.a.Norm.forward.0", RuleIn(), RuleOther()),
        R"("Torch.rsqrt.0.forward": "Module.a.Norm.forward.0",
                   "Tensor.__radd__.0.forward": "Module.a.Norm.forward.0",
                   "Module.a.Norm.forward.0": null)"};
  };
  const FirstCause cause = RuleCause(run("1.5"), run("1.0"));
  EXPECT_EQ(cause.kind, CauseKind::kWeight);
  EXPECT_EQ(cause.place, "Tensor.__radd__.0.forward.input.0");
}

// Of logits in bfloat16 that agree to the last digit, a part in float32: it shows their rounding
// once anything has differed.
TEST(OtherFormsTest, APartOfWhatWasRoundedIsRounded) {
  const auto run = [](const char* norm) {
    return Side{
        RuleCall("Functional.linear.0.forward",
                 R"({"type": "torch.Tensor", "dtype": "torch.bfloat16", "shape": [8, 8],)"
                 R"( "Max": 2.0, "Min": -1.0, "Mean": 0.25, "Norm": 5.0, "requires_grad": true})",
                 RuleOut()) +
            "," +
            RuleCall("Functional.cross_entropy.0.forward", FormTensor("[6, 8]", norm, "true"),
                     RuleOther()),
        ""};
  };
  const CauseOptions later = {.carried = 0.001};
  EXPECT_EQ(RuleCause(run("4.0002"), run("4.0"), later).kind, CauseKind::kRounding);
  EXPECT_EQ(RuleCause(run("5.0"), run("4.0"), later).kind, CauseKind::kOperator);
  EXPECT_EQ(RuleCause(run("4.0002"), run("4.0")).kind, CauseKind::kOperator);
}

// The bias of keys in front of a softmax: all terms of its gradient cancel.
TEST(OtherFormsTest, AGradientThatIsZeroButForRoundingIsCompared) {
  const auto run = [](const char* largest, const char* cancelled) {
    const auto gradient = [](const char* norm) {
      return Concat(R"({"type": "torch.Tensor", "dtype": "torch.float32", "shape": [8],)",
                    R"( "Max": 0.0, "Min": 0.0, "Mean": 0.0, "Norm": )", norm,
                    R"(, "requires_grad": false})");
    };
    return Side{Concat(R"("Module.a.Linear.backward.0": {"input": [)", RuleIn(),
                       R"(], "output": [)", RuleOut(), "]}, ") +
                    RuleCall("Torch._foreach_norm.0.forward",
                             Concat(gradient(largest), ",", gradient(cancelled)), RuleOut()),
                ""};
  };
  EXPECT_FALSE(RuleCause(run("0.5", "4e-09"), run("0.5", "1e-09")).IsFinding());
  EXPECT_TRUE(RuleCause(run("0.5", "4e-03"), run("0.5", "1e-03")).IsFinding());
}

}  // namespace
}  // namespace sonde::precision
