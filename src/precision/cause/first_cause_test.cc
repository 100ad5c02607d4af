#include "precision/cause/first_cause.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/strings.h"
#include "precision/compare/compare.h"
#include "precision/compare/pairing.h"
#include "precision/test_support.h"

namespace sonde::precision {
namespace {

using base::Concat;

// A tensor of 64 numbers with this Max and Norm, whose other statistics follow.
std::string CauseValues(const char* max, const char* norm, const char* dtype = "torch.float32",
                        const char* min = "-1.0") {
  return Concat(R"({"type": "torch.Tensor", "dtype": ")", dtype, R"(", "shape": [8, 8], "Max": )",
                max, R"(, "Min": )", min, R"(, "Mean": 0.25, "Norm": )", norm,
                R"(, "requires_grad": false})");
}

std::string CauseApi(const std::string& name, const std::string& inputs,
                     const std::string& output) {
  return Concat("\"", name, R"(": {"input_args": [)", inputs,
                R"(], "input_kwargs": {}, "output": [)", output, "]}");
}

FirstCause Cause(const std::string& target, const std::string& golden, const std::string& tree = "",
                 double carried = 0) {
  static std::vector<std::unique_ptr<DumpFile>> dumps;
  dumps.push_back(DumpOf("{" + target + "}"));
  const DumpFile& ours = *dumps.back();
  dumps.push_back(DumpOf("{" + golden + "}"));
  const DumpFile& theirs = *dumps.back();
  const Mode mode = ours.has_md5() ? Mode::kMd5 : Mode::kStatistics;
  const Comparison comparison = PairAndCompare(ours, theirs, mode, {});
  const auto construct = ConstructFile::Parse("{" + tree + "}", "construct.json");
  return FindFirstCause(comparison, ours, theirs, AlignCalls(ours, theirs), construct->get(),
                        {.carried = carried});
}

std::string X() { return CauseValues("2.0", "5.0"); }
std::string Weight() { return CauseValues("0.5", "3.0"); }
std::string Y() { return CauseValues("3.0", "7.0"); }
std::string Z() { return CauseValues("4.0", "9.0"); }

std::string Linear(const std::string& weight, const std::string& output, int number = 0) {
  return CauseApi(Concat("Functional.linear.", std::to_string(number), ".forward"),
                  X() + "," + weight, output);
}

TEST(FirstCauseTest, AWeightIsNamedBeforeWhatComesOfIt) {
  const std::string other = CauseValues("0.75", "3.1");
  const FirstCause cause = Cause(
      Linear(other, CauseValues("3.1", "7.5")) + "," +
          CauseApi("Torch.tanh.0.forward", CauseValues("3.1", "7.5"), CauseValues("9.0", "30.0")),
      Linear(Weight(), Y()) + "," + CauseApi("Torch.tanh.0.forward", Y(), Z()));
  EXPECT_EQ(cause.kind, CauseKind::kWeight);
  EXPECT_EQ(cause.place, "Functional.linear.0.forward.input.1");
  EXPECT_NE(cause.evidence[0].find("Max 0.75"), std::string::npos) << cause.evidence[0];
  EXPECT_NE(cause.evidence[1].find("Max 0.5"), std::string::npos) << cause.evidence[1];
}

TEST(FirstCauseTest, AParameterIsNotComputedSoItMayNotEvenRound) {
  const std::string other = CauseValues("0.5", "3.00001");
  EXPECT_EQ(Cause(Linear(other, Y()), Linear(Weight(), Y())).kind, CauseKind::kWeight);
  // Its statistics are sums, which another layout rounds otherwise.
  EXPECT_EQ(Cause(Linear(CauseValues("0.5", "3.0000002"), Y()), Linear(Weight(), Y())).kind,
            CauseKind::kRounding);
  // Of a later step, after gradients that differed by rounding, it may.
  EXPECT_EQ(Cause(Linear(other, Y()), Linear(Weight(), Y()), "", 1e-6).kind, CauseKind::kRounding);
}

// Of whole numbers statistics hold the largest and the smallest alone.
TEST(FirstCauseTest, PlacesThatAreLookedUpMayDifferUnseen) {
  const std::string places =
      R"({"type": "torch.Tensor", "dtype": "torch.int64", "shape": [3, 12], "Max": 76, "Min": 1,)"
      R"( "Mean": null, "Norm": null, "requires_grad": false})";
  const auto found = [&](const std::string& api, const std::string& output) {
    return CauseApi(api, places + "," + Weight(), output);
  };
  for (const char* api : {"Functional.embedding.0.forward", "Module.words.Embedding.forward.0",
                          "Tensor.index_select.0.forward"}) {
    const FirstCause cause = Cause(found(api, Z()), found(api, Y()));
    EXPECT_EQ(cause.kind, CauseKind::kInput) << api;
    EXPECT_TRUE(cause.place.ends_with(".input.0") || cause.place.ends_with(".0.input.0"))
        << cause.place;
  }
  EXPECT_EQ(Cause(found("Torch.mul.0.forward", Z()), found("Torch.mul.0.forward", Y())).kind,
            CauseKind::kOperator);
  // A multiple of all numbers is no choice of others.
  const auto scaled = [](const char* max, const char* min, const char* mean, const char* norm) {
    return Concat(R"({"type": "torch.Tensor", "dtype": "torch.float32", "shape": [8, 8], "Max": )",
                  max, R"(, "Min": )", min, R"(, "Mean": )", mean, R"(, "Norm": )", norm,
                  R"(, "requires_grad": false})");
  };
  constexpr const char* kLookup = "Functional.embedding.0.forward";
  EXPECT_EQ(Cause(found(kLookup, scaled("4.5", "-1.5", "0.375", "10.5")),
                  found(kLookup, scaled("3.0", "-1.0", "0.25", "7.0")))
                .kind,
            CauseKind::kOperator);
}

// For example between modules at level L0.
TEST(FirstCauseTest, NanThatNoRecordedCallGave) {
  const std::string nan = CauseValues("NaN", "NaN", "torch.float32", "NaN");
  const auto run = [&](const std::string& between) {
    return Linear(Weight(), Y()) + "," + CauseApi("Torch.tanh.0.forward", between, between);
  };
  EXPECT_EQ(Cause(run(nan), run(X())).kind, CauseKind::kNotFinite);
  EXPECT_EQ(Cause(run(Z()), run(X())).kind, CauseKind::kInput);
  const auto first = [&](const std::string& input) {
    return CauseApi("Torch.tanh.0.forward", input, X());
  };
  EXPECT_EQ(Cause(first(nan), first(X())).kind, CauseKind::kInput);
}

// A cell that joins its weights into one vector.
TEST(FirstCauseTest, AWeightInAnotherShapeIsAWeight) {
  const auto run = [](const std::string& weight, const std::string& joined) {
    const std::string flat = base::ReplaceAll(weight, "[8, 8]", "[64, 1]");
    return Concat(CauseApi("Torch.tanh.0.forward", X(), Y()), ",",
                  CauseApi("Torch.cat.0.forward", Concat("[", flat, "]"), joined), ",",
                  R"("Module.cell.Cell.forward.0": {"input_args": [)", X(),
                  R"(], "input_kwargs": {}, "parameters": {"weight": )", weight,
                  R"(}, "output": [)", joined, "]}");
  };
  const FirstCause cause =
      Cause(run(CauseValues("0.75", "3.1"), CauseValues("0.75", "3.1")), run(Weight(), Weight()));
  EXPECT_EQ(cause.kind, CauseKind::kWeight);
  EXPECT_EQ(cause.place, "Torch.cat.0.forward.input.0.0");
}

// What computes with it is not recorded.
TEST(FirstCauseTest, AWeightOfTheModuleAroundIsNamedBeforeTheOperator) {
  const auto run = [](const std::string& weight, const std::string& output) {
    return Concat(CauseApi("Torch.tanh.0.forward", X(), Y()), ",",
                  CauseApi("Torch.add.0.forward", Y(), output), ",",
                  R"("Module.cell.Cell.forward.0": {"input_args": [)", Y(),
                  R"(], "input_kwargs": {}, "parameters": {"weight": )", weight,
                  R"(}, "output": [)", output, "]}");
  };
  const std::string other = CauseValues("9.0", "20.0");
  const char* tree = R"("Torch.add.0.forward": "Module.cell.Cell.forward.0")";
  const FirstCause cause = Cause(run(CauseValues("0.75", "3.1"), other), run(Weight(), Z()), tree);
  EXPECT_EQ(cause.kind, CauseKind::kWeight);
  EXPECT_EQ(cause.place, "Module.cell.Cell.forward.0.parameters.weight");
  // The weight is the same: the operator it is.
  EXPECT_EQ(Cause(run(Weight(), other), run(Weight(), Z()), tree).kind, CauseKind::kOperator);
}

// The weight of a norm as a model multiplies it, where no module is recorded.
TEST(FirstCauseTest, AVectorThatIsLearnedIsAWeight) {
  const auto vector = [](const char* max, const char* grad) {
    return Concat(R"({"type": "torch.Tensor", "dtype": "torch.float32", "shape": [8], "Max": )",
                  max, R"(, "Min": 0.0, "Mean": 0.25, "Norm": )", max, R"(, "requires_grad": )",
                  grad, "}");
  };
  const auto product = [&](const char* max, const char* grad, const std::string& output) {
    return CauseApi("Tensor.__mul__.0.forward", X() + "," + vector(max, grad), output);
  };
  const FirstCause cause = Cause(product("0.0", "true", Z()), product("1.0", "true", Y()));
  EXPECT_EQ(cause.kind, CauseKind::kWeight);
  EXPECT_EQ(cause.place, "Tensor.__mul__.0.forward.input.1");
  EXPECT_EQ(Cause(product("0.0", "false", Z()), product("1.0", "false", Y())).kind,
            CauseKind::kInput);
  // One that a call gave is none.
  const auto given = [&](const char* max, const std::string& output) {
    return CauseApi("Torch.exp.0.forward", vector("0.5", "true"), vector(max, "true")) + "," +
           product(max, "true", output);
  };
  EXPECT_EQ(Cause(given("0.0", Z()), given("1.0", Y())).kind, CauseKind::kOperator);
}

// Its inputs are those of all ranks.
TEST(FirstCauseTest, AResultOfACollectiveMayComeFromAnotherRank) {
  const auto reduced = [](const std::string& output) {
    return CauseApi("Distributed.all_reduce.0.forward", X(), output);
  };
  const FirstCause cause = Cause(reduced(CauseValues("3.5", "8")), reduced(Y()));
  EXPECT_EQ(cause.kind, CauseKind::kOtherRank);
  EXPECT_NE(cause.evidence[2].find("that of another rank differs"), std::string::npos);
}

TEST(FirstCauseTest, RoundingGrowsWithTypeAndLengthAndIsNoFinding) {
  const FirstCause cause =
      Cause(Linear(Weight(), CauseValues("3.000001", "7.000002")), Linear(Weight(), Y()));
  EXPECT_EQ(cause.kind, CauseKind::kRounding);
  EXPECT_GT(cause.largest_relative, 1e-8);
  EXPECT_LT(cause.largest_relative, 1e-5);
  EXPECT_EQ(Cause(Linear(Weight(), CauseValues("3.01", "7.02")), Linear(Weight(), Y())).kind,
            CauseKind::kOperator);
  const auto half = [](const char* norm) {
    return CauseApi("Functional.linear.0.forward", X() + "," + Weight(),
                    CauseValues("3.0", norm, "torch.bfloat16"));
  };
  EXPECT_EQ(Cause(half("7.02"), half("7.0")).kind, CauseKind::kRounding);
}

TEST(FirstCauseTest, NothingDiffers) {
  const FirstCause cause = Cause(Linear(Weight(), Y()), Linear(Weight(), Y()));
  EXPECT_EQ(cause.kind, CauseKind::kIdentical);
  EXPECT_EQ(cause.exact, cause.values);
  EXPECT_FALSE(cause.IsFinding());
}

TEST(FirstCauseTest, CallsThatOneRunLacks) {
  const std::string end = CauseApi("Torch.tanh.0.forward", Z(), X());
  const std::string other_end = CauseApi("Torch.tanh.0.forward", Y(), CauseValues("1.0", "2.0"));
  const std::string gelu = CauseApi("Functional.gelu.0.forward", Y(), Z());
  const FirstCause cause = Cause(Linear(Weight(), Y()) + "," + other_end,
                                 Linear(Weight(), Y()) + "," + gelu + "," + end);
  EXPECT_EQ(cause.kind, CauseKind::kCalls);
  EXPECT_EQ(cause.place, "Functional.gelu.0.forward");
  // A change without effect on any later value is no cause.
  const std::string same = CauseApi("Functional.gelu.0.forward", Y(), Y());
  const std::string tanh = CauseApi("Torch.tanh.0.forward", Y(), X());
  EXPECT_EQ(
      Cause(Linear(Weight(), Y()) + "," + tanh, Linear(Weight(), Y()) + "," + same + "," + tanh)
          .kind,
      CauseKind::kIdentical);
}

TEST(FirstCauseTest, ASkippedLayerIsKnownByTheWeightsBehindIt) {
  const std::string second = CauseValues("0.6", "2.0");
  const std::string third = CauseValues("0.7", "2.5");
  const FirstCause cause =
      Cause(Linear(Weight(), X(), 0) + "," + Linear(third, X(), 1),
            Linear(Weight(), X(), 0) + "," + Linear(second, X(), 1) + "," + Linear(third, X(), 2));
  EXPECT_EQ(cause.kind, CauseKind::kCalls);
  EXPECT_NE(cause.evidence[2].find("up to Functional.linear.2.forward"), std::string::npos)
      << cause.evidence[2];
}

TEST(FirstCauseTest, NanIsBornInTheSoftmaxAndNotInItsMask) {
  const std::string masked = CauseValues("2.0", "Infinity", "torch.float32", "-Infinity");
  const std::string mask = CauseApi("Tensor.masked_fill.0.forward", X(), masked);
  const std::string nan = CauseValues("NaN", "NaN", "torch.float32", "NaN");
  const FirstCause cause =
      Cause(mask + "," + CauseApi("Functional.softmax.0.forward", masked, nan) + "," +
                CauseApi("Torch.matmul.0.forward", nan, nan),
            mask + "," + CauseApi("Functional.softmax.0.forward", masked, Y()) + "," +
                CauseApi("Torch.matmul.0.forward", Y(), Z()));
  EXPECT_EQ(cause.kind, CauseKind::kNotFinite);
  EXPECT_EQ(cause.place, "Functional.softmax.0.forward.output.0");
  EXPECT_NE(cause.evidence[2].find("are a mask"), std::string::npos) << cause.evidence[2];
}

TEST(FirstCauseTest, TypesArgumentsAndShapes) {
  const std::string half = CauseValues("2.0", "5.0", "torch.float16");
  EXPECT_EQ(
      Cause(CauseApi("Torch.tanh.0.forward", half, Y()), CauseApi("Torch.tanh.0.forward", X(), Y()))
          .kind,
      CauseKind::kDtype);
  const auto scaled = [](const char* by, const std::string& output) {
    return CauseApi("Torch.mul.0.forward", Concat(X(), R"(, {"type": "float", "value": )", by, "}"),
                    output);
  };
  EXPECT_EQ(Cause(scaled("8.0", Z()), scaled("2.5", Y())).kind, CauseKind::kArgument);
  // Results come before arguments: without effect it is a note.
  const FirstCause note = Cause(scaled("8.0", Y()), scaled("2.5", Y()));
  EXPECT_FALSE(note.IsFinding());
  ASSERT_EQ(note.evidence.size(), 2U);
  EXPECT_NE(note.evidence[0].find("8.0 against 2.5"), std::string::npos) << note.evidence[0];
}

// Seen on a GPU: flash attention's backward gives three gradients, that of plain products one, of
// another type.
TEST(FirstCauseTest, GradientsOfTwoKernelsOfOneCallAreNotCompared) {
  const std::string name = "Functional.scaled_dot_product_attention.0";
  const std::string forward = CauseApi(name + ".forward", X(), Y());
  const auto backward = [&name](const std::string& gradients) {
    return CauseApi(name + ".backward", CauseValues("1.0", "2.0"), gradients);
  };
  const std::string flash = CauseValues("0.5", "1.0", "torch.bfloat16");
  const std::string products = CauseValues("9.0", "20.0", "torch.float32");
  for (const std::string& gradients : {flash, Concat(flash, ",", flash, ",", flash)}) {
    EXPECT_EQ(Cause(forward + "," + backward(products), forward + "," + backward(gradients)).kind,
              CauseKind::kIdentical);
  }
  // Of one kernel they are.
  EXPECT_EQ(Cause(forward + "," + backward(CauseValues("9.0", "20.0")),
                  forward + "," + backward(CauseValues("0.5", "1.0")))
                .kind,
            CauseKind::kOperator);
}

TEST(FirstCauseTest, AnArgumentThatOneRunGivesExplainsWhatDiffers) {
  const auto loss = [](const std::string& arguments, const std::string& output) {
    return Concat(R"("Functional.cross_entropy.0.forward": {"input_args": [)", X(),
                  R"(], "input_kwargs": {)", arguments, R"(}, "output": [)", output, "]}");
  };
  const std::string sum = R"("reduction": {"type": "str", "value": "sum"})";
  const FirstCause cause = Cause(loss(sum, CauseValues("300.0", "700.0")), loss("", Y()));
  EXPECT_EQ(cause.kind, CauseKind::kArgument);
  EXPECT_NE(cause.evidence[2].find("reduction=sum (target only)"), std::string::npos)
      << cause.evidence[2];
  // A default that is given makes no difference.
  EXPECT_FALSE(Cause(loss(sum, Y()), loss("", Y())).IsFinding());
}

TEST(FirstCauseTest, AnArgumentOfOneRunIsReportedWhereResultsDifferByRounding) {
  const auto attention = [](const std::string& arguments, const std::string& output) {
    return Concat(R"("Functional.scaled_dot_product_attention.0.forward": {"input_args": [)", X(),
                  R"(], "input_kwargs": {)", arguments, R"(}, "output": [)", output, "]}");
  };
  const std::string scale = R"("scale": {"type": "float", "value": 0.2})";
  const std::string near = CauseValues("3.000001", "7.000002");
  const FirstCause cause = Cause(attention(scale, near), attention("", Y()));
  EXPECT_EQ(cause.kind, CauseKind::kRounding);
  ASSERT_EQ(cause.evidence.size(), 2U);
  EXPECT_NE(cause.evidence[0].find("got scale=0.2 (target only)"), std::string::npos)
      << cause.evidence[0];
  EXPECT_EQ(Cause(attention(scale, Y()), attention("", Y())).evidence.size(), 1U);
}

// Seen on a GPU: the gradient of a key's bias is zero but for rounding, which Adam makes steps of.
TEST(FirstCauseTest, AnOptimizersStepByTheSignOfNoise) {
  const auto step = [](const std::string& moment, const std::string& output) {
    return CauseApi("Tensor.addcdiv_.0.forward",
                    Concat(Weight(), ",", moment, ",", CauseValues("1.0", "5.0"),
                           R"(,{"type": "float", "value": -0.01})"),
                    output);
  };
  const std::string usual = CauseValues("0.5", "3.0");
  const std::string other = CauseValues("0.51", "3.01");
  const std::string moment = CauseValues("0.1", "0.5");
  const std::string noisy = CauseValues("0.1", "0.5000001");
  EXPECT_EQ(Cause(step(noisy, other), step(moment, usual)).kind, CauseKind::kRounding);
  // Nothing comes of inputs that are equal, nor so much of any.
  EXPECT_EQ(Cause(step(moment, other), step(moment, usual)).kind, CauseKind::kOperator);
  EXPECT_EQ(Cause(step(noisy, CauseValues("0.9", "3.4")), step(moment, usual)).kind,
            CauseKind::kOperator);
}

// The order of 1e-3 on a CUDA device, and neither a bound nor a guess elsewhere.
TEST(FirstCauseTest, ProductsInTf32AreNamedAsSuch) {
  const std::string device =
      R"("Torch.arange.0.forward": {"input_args": [], "input_kwargs": {"device": {"type": "torch.device",)"
      R"( "value": "cuda:0"}}, "output": []},)";
  const auto found = [&](const std::string& before, const char* norm) {
    return Cause(before + Linear(Weight(), CauseValues("3.0", norm)),
                 before + Linear(Weight(), CauseValues("3.0", "7.0")));
  };
  const auto names_tf32 = [](const FirstCause& cause) {
    return std::any_of(cause.evidence.begin(), cause.evidence.end(), [](const std::string& line) {
      return line.starts_with("products in TF32 explain it");
    });
  };
  EXPECT_EQ(found(device, "7.01").kind, CauseKind::kOperator);
  EXPECT_TRUE(names_tf32(found(device, "7.01")));
  EXPECT_FALSE(names_tf32(found("", "7.01")));
  EXPECT_FALSE(names_tf32(found(device, "9.0")));
}

TEST(FirstCauseTest, CodeOfAModuleThatRecordsNoCall) {
  const auto run = [](const std::string& between) {
    return CauseApi("Module.a.q.Linear.forward.0", X(), Y()) + "," +
           CauseApi("Module.a.o.Linear.forward.0", between, Z()) + "," +
           CauseApi("Module.a.Attention.forward.0", X(), Z());
  };
  const std::string tree =
      R"("Module.a.q.Linear.forward.0": "Module.a.Attention.forward.0",
         "Module.a.o.Linear.forward.0": "Module.a.Attention.forward.0",
         "Module.a.Attention.forward.0": null)";
  const FirstCause cause =
      Cause(run(CauseValues("1.5", "4.5")), run(CauseValues("1.0", "4.0")), tree);
  EXPECT_EQ(cause.kind, CauseKind::kOperator);
  EXPECT_EQ(cause.module, "Module.a.Attention.forward.0");
  // Without the tree it comes from outside.
  EXPECT_EQ(Cause(run(CauseValues("1.5", "4.5")), run(CauseValues("1.0", "4.0"))).kind,
            CauseKind::kInput);
}

TEST(FirstCauseTest, NoGradientAndZerosAreOne) {
  const std::string zeros = Concat(
      R"({"type": "torch.Tensor", "dtype": "torch.float32", "shape": [8, 8], "Max": 0.0, "Min": 0.0,)",
      R"( "Mean": 0.0, "Norm": 0.0, "requires_grad": false})");
  const auto run = [](const std::string& gradient) {
    return Concat(R"("Torch.split.0.backward": {"input": [)", gradient, R"(], "output": [)",
                  gradient == "null" ? Y() : X(), "]}");
  };
  EXPECT_EQ(Cause(run("null"), run("null")).kind, CauseKind::kIdentical);
  EXPECT_EQ(Cause(run("null"), run(Z())).kind, CauseKind::kArgument);
  const auto given = [](const std::string& gradient) {
    return Concat(R"("Torch.split.0.backward": {"input": [)", gradient, R"(], "output": [)", X(),
                  "]}");
  };
  EXPECT_EQ(Cause(given("null"), given(zeros)).kind, CauseKind::kIdentical);
}

TEST(FirstCauseTest, ChecksumsGiveThePlaceAndNotTheSize) {
  const auto sum = [](const char* md5) {
    return Concat(R"({"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2], "md5": ")",
                  md5, R"(", "requires_grad": false})");
  };
  const FirstCause cause = Cause(CauseApi("Torch.a.0.forward", sum("00000001"), sum("00000002")),
                                 CauseApi("Torch.a.0.forward", sum("00000001"), sum("00000003")));
  EXPECT_EQ(cause.kind, CauseKind::kChecksum);
  EXPECT_EQ(cause.place, "Torch.a.0.forward.output.0");
}

}  // namespace
}  // namespace sonde::precision
