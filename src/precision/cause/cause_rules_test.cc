// Rules of the walk that need trees, several steps or memory without meaning.
#include <gtest/gtest.h>

#include "base/strings.h"
#include "precision/cause/roles.h"
#include "precision/cause/rule_run.h"

namespace sonde::precision {
namespace {

using base::Concat;

TEST(CauseRulesTest, ANumberInAWeightsPlaceIsAnArgument) {
  const auto norm = [](const char* eps, const std::string& output) {
    return RuleCall("Functional.layer_norm.0.forward",
                    Concat(RuleIn(), R"(, {"type": "float", "value": )", eps, "}"), output);
  };
  const FirstCause cause =
      RuleCause({norm("0.01", RuleOther()), ""}, {norm("1e-05", RuleOut()), ""});
  EXPECT_EQ(cause.kind, CauseKind::kArgument);
  EXPECT_EQ(cause.place, "Functional.layer_norm.0.forward.input.1");
}

TEST(CauseRulesTest, WhatACallOverwritesIsNoInput) {
  for (const char* api :
       {"Tensor.copy_.0.forward", "Tensor.__setitem__.0.forward", "Tensor.index_copy_.0.forward",
        "Distributed.recv.0.forward", "Distributed.all_gather_into_tensor.0.forward"}) {
    const std::string found = RuleCall(api, Concat(RuleIn(), ",", RuleOut()), RuleOut());
    const std::string other = RuleCall(api, Concat(RuleOther(), ",", RuleOut()), RuleOut());
    EXPECT_FALSE(RuleCause({found, ""}, {other, ""}).IsFinding()) << api;
    EXPECT_EQ(
        RuleCause({RuleCall(api, Concat(RuleIn(), ",", RuleIn()), RuleOut()), ""}, {found, ""})
            .kind,
        CauseKind::kInput)
        << api;
  }
  EXPECT_EQ(RuleCause({RuleCall("Torch.mul.0.forward", RuleIn(), RuleOut()), ""},
                      {RuleCall("Torch.mul.0.forward", RuleOther(), RuleOut()), ""})
                .kind,
            CauseKind::kInput);
}

// gate and up exchanged: the same calls in the same modules.
TEST(CauseRulesTest, ExchangedWeightsAreNoOrderOfCalls) {
  const auto run = [](const std::string& first, const std::string& second) {
    const std::string one = RuleValues("1.5", "6.0");
    return Side{RuleCall("Functional.linear.0.forward", RuleIn() + "," + first, one) + "," +
                    RuleCall("Functional.linear.1.forward", RuleIn() + "," + second, one),
                R"("Functional.linear.0.forward": "Module.gate.Linear.forward.0",
                   "Functional.linear.1.forward": "Module.up.Linear.forward.0")"};
  };
  const FirstCause cause = RuleCause(run(RuleOut(), RuleOther()), run(RuleOther(), RuleOut()));
  EXPECT_EQ(cause.kind, CauseKind::kWeight);
  EXPECT_NE(cause.evidence[2].find("Functional.linear.1.forward.input.1"), std::string::npos)
      << cause.evidence[2];
}

TEST(CauseRulesTest, ACallOfOneRunIsNamedInTheModuleThatDiffers) {
  const std::string linear =
      RuleCall("Functional.linear.0.forward", Concat(RuleIn(), ",", RuleOut()), RuleOut());
  const std::string dropout = RuleCall("Functional.dropout.0.forward", RuleOut(), RuleOther());
  const auto module = [](const std::string& output) {
    return RuleCall("Module.a.Block.forward.0", RuleIn(), output);
  };
  const std::string tree = R"("Functional.linear.0.forward": "Module.a.Block.forward.0",
                              "Functional.dropout.0.forward": "Module.a.Block.forward.0",
                              "Module.a.Block.forward.0": null)";
  const FirstCause cause = RuleCause({linear + "," + dropout + "," + module(RuleOther()), tree},
                                     {linear + "," + module(RuleOut()), tree});
  EXPECT_EQ(cause.kind, CauseKind::kCalls);
  EXPECT_EQ(cause.place, "Functional.dropout.0.forward");
  EXPECT_EQ(cause.module, "Module.a.Block.forward.0");
}

TEST(CauseRulesTest, AGradientOfAParameterGetsWhatTheModuleGets) {
  const auto run = [](const std::string& gradient, const std::string& weight) {
    return Side{Concat(R"("Module.a.Linear.parameters_grad.0": {"weight": [)", weight, R"(]},)",
                       R"("Module.a.Linear.backward.0": {"input": [)", gradient,
                       R"(], "output": [)", weight, "]}"),
                ""};
  };
  const FirstCause cause = RuleCause(run(RuleIn(), RuleOut()), run(RuleOther(), RuleIn()));
  EXPECT_EQ(cause.kind, CauseKind::kInput);
  EXPECT_EQ(cause.place, "Module.a.Linear.backward.0.input.0");
}

TEST(CauseRulesTest, WeightsBehindAgreeingGradientsAreTheOptimizers) {
  const auto run = [](const std::string& weight) {
    return Side{RuleCall("Functional.linear.0.forward", RuleIn() + "," + weight, RuleOut()), ""};
  };
  EXPECT_EQ(RuleCause(run(RuleOther()), run(RuleOut()), {.follows_agreement = true}).kind,
            CauseKind::kOptimizer);
  EXPECT_EQ(RuleCause(run(RuleOther()), run(RuleOut())).kind, CauseKind::kWeight);
  // The last digit of an update belongs to the form of the optimizer; of what was loaded it is a
  // change.
  const std::string last = RuleValues("3.0000002", "7.0000003");
  const CauseOptions another = {.follows_agreement = true, .other_optimizer = true};
  EXPECT_FALSE(RuleCause(run(last), run(RuleOut()), another).IsFinding());
  EXPECT_EQ(RuleCause(run(last), run(RuleOut()), {.follows_agreement = true}).kind,
            CauseKind::kOptimizer);
  EXPECT_EQ(RuleCause(run(last), run(RuleOut())).kind, CauseKind::kWeight);
}

TEST(CauseRulesTest, WhereWeightsAreNotRecordedTheFirstModuleShowsTheUpdate) {
  const auto run = [](const std::string& first, const std::string& second, const char* level) {
    return Side{RuleCall("Module.embed.Embedding.forward.0", RuleIn(), first) + "," +
                    RuleCall("Module.act.ReLU.forward.0", RuleIn(), second),
                "", level};
  };
  const CauseOptions later = {.follows_agreement = true};
  const auto kind = [&](const Side& target, const Side& golden, CauseOptions options) {
    return RuleCause(target, golden, options).kind;
  };
  const Side golden = run(RuleOut(), RuleOut(), "L0");
  EXPECT_EQ(kind(run(RuleOther(), RuleOut(), "L0"), golden, later), CauseKind::kOptimizer);
  EXPECT_EQ(kind(run(RuleOther(), RuleOut(), "L0"), golden, {}), CauseKind::kOperator);
  EXPECT_EQ(kind(run(RuleOut(), RuleOther(), "L0"), golden, later), CauseKind::kOperator);
  EXPECT_EQ(kind(run(RuleOther(), RuleOut(), "mix"), run(RuleOut(), RuleOut(), "mix"), later),
            CauseKind::kOperator);
}

TEST(CauseRulesTest, FormsOfOneOptimizerAreNotCompared) {
  const std::string linear =
      RuleCall("Functional.linear.0.forward", Concat(RuleIn(), ",", RuleOut()), RuleOut());
  const Side fused = {
      linear + "," + RuleCall("Torch._fused_adamw_.0.forward", RuleOut(), RuleOther()),
      R"("Torch._fused_adamw_.0.forward": "optimizer")"};
  const Side loop = {linear + "," + RuleCall("Tensor.mul_.0.forward", RuleOut(), RuleIn()),
                     R"("Tensor.mul_.0.forward": "optimizer")"};
  const FirstCause cause = RuleCause(fused, loop);
  EXPECT_FALSE(cause.IsFinding());
  ASSERT_EQ(cause.evidence.size(), 2U);
  EXPECT_NE(cause.evidence.back().find("weights of the next step"), std::string::npos);
}

TEST(CauseRulesTest, AnInputOfAnotherChecksumIsAChangedInput) {
  const auto run = [](const char* md5, const std::string& output) {
    return Side{
        RuleCall("Functional.conv2d.0.forward",
                 RuleValues("2.0", "5.0", Concat(R"(, "md5": ")", md5, "\"").c_str()), output),
        ""};
  };
  const std::string one = RuleValues("3.0", "7.0", R"(, "md5": "00000003")");
  const std::string two = RuleValues("4.0", "9.0", R"(, "md5": "00000004")");
  const FirstCause cause = RuleCause(run("00000001", one), run("00000002", two));
  EXPECT_EQ(cause.kind, CauseKind::kInput);
  EXPECT_EQ(cause.place, "Functional.conv2d.0.forward.input.0");
  EXPECT_NE(cause.evidence.back().find("another order"), std::string::npos)
      << cause.evidence.back();
}

TEST(CauseRulesTest, EvidenceIsWhatWasCompared) {
  const auto run = [](const char* norm, const std::string& output) {
    return Side{RuleCall("Torch.add.0.forward", RuleIn() + "," + RuleValues("3.0", norm), output),
                ""};
  };
  const FirstCause cause = RuleCause(run("7.0000001", RuleOther()), run("7.0", RuleOut()));
  EXPECT_EQ(cause.kind, CauseKind::kOperator);
  EXPECT_TRUE(cause.evidence[2].starts_with("its 2 inputs: 1 equal, 1 within rounding"))
      << cause.evidence[2];
}

TEST(CauseRulesTest, AFifthOfAValueIsNeverRounding) {
  const auto half = [](const char* norm) {
    return Side{Concat(R"("Module.n.Norm2.forward.0": {"input_args": [)", RuleIn(),
                       R"(], "input_kwargs": {}, "output": [{"type": "torch.Tensor", "dtype":)",
                       R"( "torch.bfloat16", "shape": [8, 8], "Max": 3.0, "Min": -1.0,)",
                       R"( "Mean": 0.25, "Norm": )", norm, R"(, "requires_grad": false}]})"),
                ""};
  };
  EXPECT_EQ(RuleCause(half("8.4"), half("7.0")).kind, CauseKind::kOperator);
  const FirstCause near = RuleCause(half("7.05"), half("7.0"));
  EXPECT_EQ(near.kind, CauseKind::kRounding);
  EXPECT_GT(near.largest_share, 0.0);
  EXPECT_LT(near.largest_share, 1.0);
}

std::string RuleMask(const char* type) {
  return Concat(R"({"type": "torch.Tensor", "dtype": ")", type,
                R"(", "shape": [2, 12], "Max": true,)",
                R"( "Min": false, "Mean": null, "Norm": null, "requires_grad": false})");
}

TEST(CauseRulesTest, WhatOnlyAMaskDecidesIsAChangedInput) {
  const auto sum = [](const char* value) {
    return Side{RuleCall("Tensor.sum.0.forward", RuleMask("torch.bool"),
                         Concat(R"({"type": "torch.Tensor", "dtype": "torch.int64", "shape": [],)",
                                R"( "Max": )", value, R"(, "Min": )", value, R"(, "Mean": )", value,
                                R"(, "Norm": )", value, R"(, "requires_grad": false})")),
                ""};
  };
  const FirstCause cause = RuleCause(sum("20"), sum("21"));
  EXPECT_EQ(cause.kind, CauseKind::kInput);
  EXPECT_EQ(cause.place, "Tensor.sum.0.forward.input.0");
}

TEST(CauseRulesTest, OneElementFarOffIsNoRoundingEvenInACoarseType) {
  const auto product = [](const char* max) {
    const auto half = [](const char* shape, const char* high, const char* norm) {
      return Concat(R"({"type": "torch.Tensor", "dtype": "torch.bfloat16", "shape": )", shape,
                    R"(, "Max": )", high, R"(, "Min": -2.0, "Mean": 0.01, "Norm": )", norm,
                    R"(, "requires_grad": false})");
    };
    return Side{RuleCall("Functional.linear.0.forward",
                         half("[64, 64]", "2.0", "64.0") + "," + half("[64, 64]", "2.0", "64.0"),
                         half("[64, 64]", max, "64.0")),
                ""};
  };
  EXPECT_EQ(RuleCause(product("2.3"), product("2.0")).kind, CauseKind::kOperator);
  EXPECT_EQ(RuleCause(product("2.0156"), product("2.0")).kind, CauseKind::kRounding);
}

TEST(CauseRulesTest, AModuleGivesOnWhatACallInItGave) {
  // Sums in bfloat16 within a module whose own values are float32.
  const auto run = [](const char* max, const char* norm) {
    const std::string out = RuleValues(max, norm);
    return Side{RuleCall("Torch.matmul.0.forward",
                         Concat(R"({"type": "torch.Tensor", "dtype": "torch.bfloat16", "shape":)",
                                R"( [8, 8], "Max": 2.0, "Min": -1.0, "Mean": 0.25, "Norm": 5.0,)",
                                R"( "requires_grad": false})"),
                         out) +
                    "," + RuleCall("Module.m.Model.forward.0", RuleMask("torch.int64"), out),
                R"("Torch.matmul.0.forward": "Module.m.Model.forward.0",)"
                R"("Module.m.Model.forward.0": null)"};
  };
  EXPECT_EQ(RuleCause(run("3.004", "7.005"), run("3.0", "7.0")).kind, CauseKind::kRounding);
}

TEST(CauseRulesTest, AWrapperAroundTheCallsOfBothIsNoDifference) {
  const std::string call = RuleCall("Torch.relu.0.forward", RuleIn(), RuleOut());
  const Side plain = {call, R"("Torch.relu.0.forward": null)"};
  const Side wrapped = {
      call + "," + RuleCall("Module.outer.Wrap.forward.0", RuleIn(), RuleOut()),
      R"("Torch.relu.0.forward": "Module.outer.Wrap.forward.0", "Module.outer.Wrap.forward.0": null)"};
  EXPECT_EQ(RuleCause(wrapped, plain).kind, CauseKind::kIdentical);
  // A call more that gives something is one.
  const Side more = {call + "," + RuleCall("Torch.tanh.0.forward", RuleOut(), RuleOther()), ""};
  EXPECT_EQ(RuleCause(more, {call, ""}).kind, CauseKind::kCalls);
}

TEST(CauseRulesTest, RunsThatEndInOtherCallsButTheSameResultAreAlike) {
  const std::string begin = RuleCall("Torch.relu.0.forward", RuleIn(), RuleOut());
  const auto end = [&](const std::string& name, const std::string& value) {
    return Side{begin + "," + RuleCall(name, RuleOut(), value), ""};
  };
  EXPECT_EQ(RuleCause(end("Functional.nll_loss.0.forward", RuleOther()),
                      end("Functional.cross_entropy.0.forward", RuleOther()))
                .kind,
            CauseKind::kIdentical);
  EXPECT_EQ(RuleCause(end("Functional.nll_loss.0.forward", RuleIn()),
                      end("Functional.cross_entropy.0.forward", RuleOther()))
                .kind,
            CauseKind::kCalls);
}

TEST(CauseRulesTest, BehindACallOfOneRunItsNeighbourIsStillCompared) {
  const auto norm = [](const char* training, const std::string& output) {
    return RuleCall("Functional.batch_norm.0.forward",
                    Concat(RuleIn(), R"(, {"type": "bool", "value": )", training, "}"), output);
  };
  const std::string counted = RuleCall("Tensor.add_.0.forward", RuleOther(), RuleOther());
  const FirstCause cause =
      RuleCause({norm("false", RuleOther()), ""}, {counted + "," + norm("true", RuleOut()), ""});
  EXPECT_EQ(cause.kind, CauseKind::kArgument);
}

TEST(CauseRulesTest, AViewOfMemoryWithNanInItBeginsNothing) {
  const std::string nan = RuleValues("NaN", "NaN");
  const auto run = [&](const std::string& output) {
    return Side{RuleCall("Torch.clamp.0.forward", nan, output) + "," +
                    RuleCall("Torch.relu.0.forward", RuleIn(), RuleOut()),
                ""};
  };
  EXPECT_FALSE(RuleCause(run(nan), run(RuleOut())).IsFinding());
}

TEST(CauseRulesTest, WeightsThatAnOptimizerUpdatesInAnotherOrderAreNoDifference) {
  const auto update = [](int number, const char* shape) {
    return RuleCall(Concat("Tensor.mul_.", std::to_string(number), ".forward"),
                    Concat(R"({"type": "torch.Tensor", "dtype": "torch.float32", "shape": )", shape,
                           R"(, "Max": 2.0, "Min": -1.0, "Mean": 0.25, "Norm": 5.0,)",
                           R"( "requires_grad": false})"),
                    RuleOut());
  };
  const std::string tree = R"("Tensor.mul_.0.forward": "optimizer.0", "Tensor.mul_.1.forward":)"
                           R"( "optimizer.0")";
  const std::string first = RuleCall("Torch.relu.0.forward", RuleIn(), RuleOut());
  const FirstCause cause =
      RuleCause({first + "," + update(0, "[4]") + "," + update(1, "[8]"), tree},
                {first + "," + update(0, "[8]") + "," + update(1, "[4]"), tree});
  EXPECT_EQ(cause.kind, CauseKind::kIdentical);
  EXPECT_NE(cause.evidence.back().find("in another order"), std::string::npos);
}

TEST(CauseRulesTest, WhatOneRunGivesBesideTheResultIsNotCompared) {
  const auto run = [](const std::string& more) {
    return Side{RuleCall("Module.a.Attention.forward.0", RuleIn(), RuleOut() + ", " + more), ""};
  };
  EXPECT_EQ(RuleCause(run(RuleOther()), run("null")).kind, CauseKind::kIdentical);
}

TEST(CauseRulesTest, AGradientCameThroughTheCoarsestType) {
  const auto run = [](const char* max) {
    return Side{
        RuleCall("Torch.matmul.0.forward",
                 R"({"type": "torch.Tensor", "dtype": "torch.bfloat16", "shape": [8, 8],)"
                 R"( "Max": 2.0, "Min": -1.0, "Mean": 0.25, "Norm": 5.0, "requires_grad": false})",
                 RuleOut()) +
            Concat(R"(, "Module.e.Embedding.parameters_grad.0": {"weight": [)",
                   RuleValues(max, "7.0"), "]}"),
        ""};
  };
  EXPECT_EQ(RuleCause(run("3.02"), run("3.0")).kind, CauseKind::kRounding);
}

TEST(RolesTest, NamesOfWrappersAreNoPartOfAModulesName) {
  EXPECT_EQ(WithoutWrappers("Module.module._orig_mod.a.Linear.forward.0"),
            "Module.a.Linear.forward.0");
  EXPECT_EQ(WithoutWrappers("Module.layers.0._fsdp_wrapped_module.a.Linear.forward.0"),
            "Module.layers.0.a.Linear.forward.0");
  EXPECT_EQ(WithoutWrappers("Functional.module.0.forward"), "Functional.module.0.forward");
}

}  // namespace
}  // namespace sonde::precision
