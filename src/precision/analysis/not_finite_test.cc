#include "precision/analysis/not_finite.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "precision/test_support.h"

namespace sonde::precision {
namespace {

using base::Concat;

std::string NotFiniteTensor(const char* max, const char* min) {
  return Concat(R"({"type": "torch.Tensor", "dtype": "torch.float32", "shape": [8], "Max": )", max,
                R"(, "Min": )", min, R"(, "Mean": 0.5, "Norm": 1.0})");
}

NotFinitePlace PlaceIn(const std::string& api, const std::string& inputs,
                       const std::string& output) {
  static std::vector<std::unique_ptr<DumpFile>> dumps;
  dumps.push_back(DumpOf(Concat("{\"", api, R"(": {"input_args": [)", inputs,
                                R"(], "input_kwargs": {}, "output": [)", output, "]}}")));
  return NotFiniteOf(*dumps.back(), dumps.back()->apis()[0]);
}

std::string FiniteTensor() { return NotFiniteTensor("2.0", "-1.0"); }
std::string NanTensor() { return NotFiniteTensor("NaN", "NaN"); }
std::string MaskTensor() { return NotFiniteTensor("2.0", "-Infinity"); }

TEST(NotFiniteTest, NanBeginsInASoftmaxOfAMaskedRow) {
  const NotFinitePlace place = PlaceIn("Functional.softmax.0.forward", MaskTensor(), NanTensor());
  EXPECT_EQ(place.state, NotFinite::kBegins);
  EXPECT_EQ(place.row->name, "Functional.softmax.0.forward.output.0");
}

TEST(NotFiniteTest, AMaskIsNoOverflow) {
  EXPECT_EQ(PlaceIn("Tensor.masked_fill.0.forward", FiniteTensor(), MaskTensor()).state,
            NotFinite::kNone);
  EXPECT_EQ(
      PlaceIn("Tensor.__add__.0.forward", Concat(FiniteTensor(), ",", MaskTensor()), MaskTensor())
          .state,
      NotFinite::kNone);
  EXPECT_EQ(PlaceIn("Torch.log.0.forward", FiniteTensor(), MaskTensor()).state, NotFinite::kBegins);
}

TEST(NotFiniteTest, AWeightThatHoldsItIsThePlace) {
  const NotFinitePlace place =
      PlaceIn("Functional.linear.0.forward", Concat(FiniteTensor(), ",", NanTensor()), NanTensor());
  EXPECT_EQ(place.state, NotFinite::kInWeight);
  EXPECT_EQ(place.row->name, "Functional.linear.0.forward.input.1");
  EXPECT_EQ(
      PlaceIn("Functional.linear.0.forward", Concat(NanTensor(), ",", FiniteTensor()), NanTensor())
          .state,
      NotFinite::kBefore);
}

TEST(NotFiniteTest, WhatACallOverwritesIsNotLookedAt) {
  EXPECT_EQ(
      PlaceIn("Tensor.copy_.0.forward", Concat(NanTensor(), ",", FiniteTensor()), FiniteTensor())
          .state,
      NotFinite::kNone);
  EXPECT_EQ(PlaceIn("Torch.empty.0.forward", "", NanTensor()).state, NotFinite::kNone);
}

}  // namespace
}  // namespace sonde::precision
