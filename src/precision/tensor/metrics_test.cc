#include "precision/tensor/metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace sonde::precision {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

std::string Text(const Cell& cell) {
  std::string out;
  cell.AppendTo(&out);
  return out;
}

// Keeps float values alive with the tensor that refers to them.
struct Floats {
  std::vector<float> values;
  Tensor tensor;

  Floats(std::vector<float> v, std::vector<int64_t> shape)
      : values(std::move(v)), tensor(Build(std::move(shape))) {}
  Tensor Build(std::vector<int64_t> shape) {
    auto strides = Tensor::PackedStrides(shape);
    return *Tensor::Make(Dtype::kFloat32, std::move(shape), std::move(strides), 0,
                         std::as_bytes(std::span(values)));
  }
};

std::vector<std::string> Compare(const Tensor& target, const Tensor& golden) {
  const auto cells = CompareTensors(target, golden);
  std::vector<std::string> out;
  for (size_t i = 0; i < kTensorMetricCount; ++i) out.push_back(Text(cells[i]));
  return out;
}

std::vector<std::string> Compare(const std::vector<float>& target,
                                 const std::vector<float>& golden) {
  const Floats t(target, {static_cast<int64_t>(target.size())});
  const Floats g(golden, {static_cast<int64_t>(golden.size())});
  return Compare(t.tensor, g.tensor);
}

using Texts = std::vector<std::string>;

// The values of the reference's table.
TEST(MetricsTest, HandComputedValues) {
  EXPECT_EQ(Compare({1, 2, 3}, {1, 2, 3}), (Texts{"1.0", "0.0", "0.0", "0.0", "1.0", "1.0"}));
  EXPECT_EQ(Compare({1, 2, 3.5}, {1, 2, 3}),
            (Texts{"0.997408650736", "0.5", "0.5", "0.166666671634", "0.666666666667",
                   "0.666666666667"}));
  EXPECT_EQ(Compare({1, 2, 3}, {0, 0, 0}),
            (Texts{"Nan", "3.7416573867739413", "3.0", "25165824.0", "0.0", "0.0"}));
  EXPECT_EQ(Compare({0, 0, 0}, {0, 0, 0}), (Texts{"1.0", "0.0", "0.0", "0.0", "1.0", "1.0"}));
  EXPECT_EQ(Compare({4}, {3}), (Texts{"unsupported", "unsupported", "1.0", "0.333333343267",
                                      "unsupported", "unsupported"}));
  EXPECT_EQ(Compare({4}, {0}), (Texts{"unsupported", "unsupported", "4.0", "33554432.0",
                                      "unsupported", "unsupported"}));
  EXPECT_EQ(Compare({1, 2}, {1, 2, 3}), Texts(6, "shape unmatched"));
  EXPECT_EQ(Compare({}, {1}), Texts(6, "unsupported"));
}

TEST(MetricsTest, NansAndInfinities) {
  const auto nan = static_cast<float>(kNan);
  const auto inf = static_cast<float>(kInf);
  const Texts same = {"0.989949493661", "0.5",           "0.5", "0.333333343267",
                      "0.666666666667", "0.666666666667"};
  EXPECT_EQ(Compare({1, nan, 3}, {1.5, nan, 3}), same);
  EXPECT_EQ(Compare({1, inf, 3}, {1.5, -inf, 3}), same);
  EXPECT_EQ(Compare({1, nan, 3}, {1.5, 2, 3}), Texts(6, "N/A"));
  EXPECT_EQ(Compare({1, inf, 3}, {1.5, nan, 3}), Texts(6, "N/A"));
  EXPECT_EQ(Compare({nan}, {1})[2], "Nan");
  EXPECT_EQ(Compare({3e38F, 3e38F}, {-3e38F, -3e38F})[3], " inf");
}

TEST(MetricsTest, LengthOneAxesDoNotCount) {
  const Floats t({1, 2, 3}, {1, 3});
  const Floats g({1, 2, 3}, {3, 1, 1});
  EXPECT_EQ(Compare(t.tensor, g.tensor), (Texts{"1.0", "0.0", "0.0", "0.0", "1.0", "1.0"}));
}

TEST(MetricsTest, DoublesAndIntegersAreComparedInDouble) {
  const Tensor t = Tensor::OfDoubles({2}, {4, 1});
  const Tensor g = Tensor::OfDoubles({2}, {3, 0});
  const Texts cells = Compare(t, g);
  EXPECT_EQ(cells[2], "1.0");
  EXPECT_EQ(cells[3], "4503599627370496.0");
}

TEST(MetricsTest, ComplexNumbersCountAsMagnitudes) {
  const std::vector<float> a = {3, 4, 1, 0};
  const std::vector<float> b = {3, 0, 1, 0};
  const auto make = [](const std::vector<float>& values) {
    return *Tensor::Make(Dtype::kComplex64, {2}, {1}, 0, std::as_bytes(std::span(values)));
  };
  const Texts cells = Compare(make(a), make(b));
  EXPECT_EQ(cells[1], "4.0");
  EXPECT_EQ(cells[2], "4.0");
  EXPECT_EQ(cells[3], "1.333333333333");
  EXPECT_EQ(cells[4], "0.5");
}

// Long enough for several blocks and pieces, with a tail that fills no lane group.
TEST(MetricsTest, LargeTensorsEqualThePlainFormulas) {
  const size_t count = (size_t{1} << 20U) + 4096 + 13;
  std::vector<float> n(count);
  std::vector<float> b(count);
  double dot = 0;
  double nn = 0;
  double bb = 0;
  double dd = 0;
  uint64_t below = 0;
  for (size_t i = 0; i < count; ++i) {
    b[i] = static_cast<float>(std::sin(static_cast<double>(i))) + 2.0F;
    n[i] = b[i] * (i % 3 == 0 ? 1.002F : 1.0F);
    dot += double{n[i]} * b[i];
    nn += double{n[i]} * n[i];
    bb += double{b[i]} * b[i];
    dd += (double{n[i]} - b[i]) * (double{n[i]} - b[i]);
    below += std::fabs((n[i] - b[i]) / b[i]) < 0.001F ? 1U : 0U;
  }
  const auto cells = CompareTensors(Floats(n, {static_cast<int64_t>(count)}).tensor,
                                    Floats(b, {static_cast<int64_t>(count)}).tensor);
  EXPECT_NEAR(cells[kCosine].value, dot / std::sqrt(nn * bb), 1e-6);
  EXPECT_NEAR(cells[kEucDist].value, std::sqrt(dd), 1e-9 * std::sqrt(dd));
  EXPECT_NEAR(cells[kOneThousandth].value, static_cast<double>(below) / static_cast<double>(count),
              1e-12);
  EXPECT_EQ(cells[kFiveThousandths].value, 1.0);
}

}  // namespace
}  // namespace sonde::precision
