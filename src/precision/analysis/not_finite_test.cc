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

const std::string kFinite = NotFiniteTensor("2.0", "-1.0");
const std::string kNanTensor = NotFiniteTensor("NaN", "NaN");
const std::string kMaskTensor = NotFiniteTensor("2.0", "-Infinity");

TEST(NotFiniteTest, NanBeginsInASoftmaxOfAMaskedRow) {
  const NotFinitePlace place = PlaceIn("Functional.softmax.0.forward", kMaskTensor, kNanTensor);
  EXPECT_EQ(place.state, NotFinite::kBegins);
  EXPECT_EQ(place.row->name, "Functional.softmax.0.forward.output.0");
}

TEST(NotFiniteTest, AMaskIsNoOverflow) {
  EXPECT_EQ(PlaceIn("Tensor.masked_fill.0.forward", kFinite, kMaskTensor).state, NotFinite::kNone);
  EXPECT_EQ(PlaceIn("Tensor.__add__.0.forward", kFinite + "," + kMaskTensor, kMaskTensor).state,
            NotFinite::kNone);
  EXPECT_EQ(PlaceIn("Torch.log.0.forward", kFinite, kMaskTensor).state, NotFinite::kBegins);
}

TEST(NotFiniteTest, AWeightThatHoldsItIsThePlace) {
  const NotFinitePlace place =
      PlaceIn("Functional.linear.0.forward", kFinite + "," + kNanTensor, kNanTensor);
  EXPECT_EQ(place.state, NotFinite::kInWeight);
  EXPECT_EQ(place.row->name, "Functional.linear.0.forward.input.1");
  EXPECT_EQ(PlaceIn("Functional.linear.0.forward", kNanTensor + "," + kFinite, kNanTensor).state,
            NotFinite::kBefore);
}

TEST(NotFiniteTest, WhatACallOverwritesIsNotLookedAt) {
  EXPECT_EQ(PlaceIn("Tensor.copy_.0.forward", kNanTensor + "," + kFinite, kFinite).state,
            NotFinite::kNone);
  EXPECT_EQ(PlaceIn("Torch.empty.0.forward", "", kNanTensor).state, NotFinite::kNone);
}

}  // namespace
}  // namespace sonde::precision
