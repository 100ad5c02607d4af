#include "probe/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "base/float16.h"
#include "probe/moments.h"

namespace sonde::probe {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <class T>
Statistics Of(const std::vector<T>& data, ElementType type, std::vector<int64_t> shape = {},
              std::vector<int64_t> strides = {}, StatisticsOptions options = {}) {
  if (shape.empty()) {
    shape = {static_cast<int64_t>(data.size())};
    strides = {1};
  }
  return ComputeStatistics({.data = data.data(),
                            .type = type,
                            .element_bytes = sizeof(T),
                            .shape = shape,
                            .strides = strides},
                           options);
}

std::vector<uint16_t> Halves(const std::vector<float>& values) {
  std::vector<uint16_t> bits;
  for (const float value : values) bits.push_back(base::FloatToHalf(value));
  return bits;
}

std::vector<uint16_t> Brains(const std::vector<float>& values) {
  std::vector<uint16_t> bits;
  for (const float value : values) bits.push_back(base::FloatToBFloat16(value));
  return bits;
}

TEST(StatisticsTest, OfSmallFloats) {
  const Statistics out = Of<float>({3, -4, 0, 1}, ElementType::kFloat32);
  EXPECT_EQ(out.max.real, 3);
  EXPECT_EQ(out.min.real, -4);
  EXPECT_EQ(out.mean.real, 0);
  EXPECT_FLOAT_EQ(static_cast<float>(out.norm.real), std::sqrt(26.0F));
}

TEST(StatisticsTest, NanSpreadsAndInfinitiesCancel) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  for (size_t at = 0; at < 70; at++) {
    std::vector<float> data(70, 1);
    data[at] = nan;
    const Statistics out = Of(data, ElementType::kFloat32);
    for (const Number& number : {out.max, out.min, out.mean, out.norm}) {
      EXPECT_TRUE(std::isnan(number.real)) << at;
    }
  }
  const Statistics out = Of<float>({inf, 1, -inf}, ElementType::kFloat32);
  EXPECT_EQ(out.max.real, kInfinity);
  EXPECT_EQ(out.min.real, -kInfinity);
  EXPECT_TRUE(std::isnan(out.mean.real));
  EXPECT_EQ(out.norm.real, kInfinity);
  const Statistics one = Of<float>({inf, 1, 2}, ElementType::kFloat32);
  EXPECT_EQ(one.mean.real, kInfinity);
  EXPECT_EQ(one.min.real, 1);
}

TEST(StatisticsTest, OverflowsAndVanishesAsSinglePrecisionDoes) {
  EXPECT_EQ(Of<float>({1e30F, 1}, ElementType::kFloat32).norm.real, kInfinity);
  EXPECT_EQ(Of<float>({1e-30F, 0}, ElementType::kFloat32).norm.real, 0);
  EXPECT_EQ(Of<float>({-1e30F}, ElementType::kFloat32).norm.real, static_cast<double>(1e30F));
  const float max = std::numeric_limits<float>::max();
  EXPECT_EQ(Of<float>({max, max}, ElementType::kFloat32).mean.real, kInfinity);
}

TEST(StatisticsTest, HalfResultsOverflowInTheirOwnType) {
  const auto data = Halves({60000, 60000, 60000});
  const Statistics newer = Of(data, ElementType::kFloat16);
  EXPECT_EQ(newer.mean.real, 60000);
  EXPECT_EQ(newer.norm.real, kInfinity);
  const Statistics older = Of(data, ElementType::kFloat16, {3}, {1}, {.mean_rounds_sum = true});
  EXPECT_EQ(older.mean.real, kInfinity);
}

TEST(StatisticsTest, BrainFloatResultsCarryEightBits) {
  const Statistics out = Of(Brains({1, 2, 4, 8, 16, 32, 64, 1}), ElementType::kBFloat16);
  EXPECT_EQ(out.mean.real, 16);
  EXPECT_EQ(out.norm.real, base::BFloat16ToFloat(base::FloatToBFloat16(std::sqrt(5462.0F))));
}

TEST(StatisticsTest, WithoutSums) {
  const Statistics out = Of<float>({1, 2}, ElementType::kFloat32, {2}, {1}, {.with_sums = false});
  EXPECT_EQ(out.max.real, 2);
  EXPECT_EQ(out.mean.kind, Number::Kind::kNone);
  EXPECT_EQ(out.norm.kind, Number::Kind::kNone);
}

TEST(StatisticsTest, DoublesAndIntegersHaveNoMean) {
  const Statistics reals = Of<double>({1.5, -2.5, 1e300}, ElementType::kFloat64);
  EXPECT_EQ(reals.max.real, 1e300);
  EXPECT_EQ(reals.min.real, -2.5);
  EXPECT_EQ(reals.mean.kind, Number::Kind::kNone);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(
      std::isnan(Of<double>({1, nan, 2, 3, 4, 5, 6, 7, 8}, ElementType::kFloat64).max.real));
  const Statistics integers = Of<int64_t>({5, -7, 3}, ElementType::kInt64);
  EXPECT_EQ(integers.max.kind, Number::Kind::kInt);
  EXPECT_EQ(integers.max.integer, 5);
  EXPECT_EQ(integers.min.integer, -7);
  EXPECT_EQ(integers.norm.kind, Number::Kind::kNone);
  EXPECT_EQ(Of<uint8_t>({250, 3}, ElementType::kUInt8).max.integer, 250);
  EXPECT_EQ(Of<int8_t>({-100, 3}, ElementType::kInt8).min.integer, -100);
}

TEST(StatisticsTest, BoolIsAnyAndAll) {
  const Statistics out = Of<uint8_t>({0, 1, 0}, ElementType::kBool);
  EXPECT_EQ(out.max.kind, Number::Kind::kBool);
  EXPECT_EQ(out.max.integer, 1);
  EXPECT_EQ(out.min.integer, 0);
  EXPECT_EQ(out.mean.kind, Number::Kind::kNone);
}

TEST(StatisticsTest, OneElementWithoutShapeIsItsOwnNorm) {
  const float value = -2.5F;
  const TensorView view = {.data = &value, .type = ElementType::kFloat32, .element_bytes = 4};
  const Statistics out = ComputeStatistics(view, {});
  EXPECT_EQ(out.norm.real, -2.5);
  EXPECT_EQ(out.mean.real, -2.5);
  const int64_t integer = -3;
  const Statistics whole =
      ComputeStatistics({.data = &integer, .type = ElementType::kInt64, .element_bytes = 8}, {});
  EXPECT_EQ(whole.norm.kind, Number::Kind::kInt);
  EXPECT_EQ(whole.norm.integer, -3);
}

TEST(StatisticsTest, EmptyAndFloat8HaveNone) {
  EXPECT_EQ(Of<float>({}, ElementType::kFloat32).max.kind, Number::Kind::kNone);
  EXPECT_EQ(Of<uint8_t>({1, 2}, ElementType::kFloat8).max.kind, Number::Kind::kNone);
}

TEST(StatisticsTest, ComplexIsMeasuredByMagnitude) {
  const std::vector<float> parts = {3, 4, 0, -1};
  const std::vector<int64_t> shape = {2};
  const std::vector<int64_t> strides = {1};
  const Statistics out = ComputeStatistics({.data = parts.data(),
                                            .type = ElementType::kComplex64,
                                            .element_bytes = 8,
                                            .shape = shape,
                                            .strides = strides},
                                           {});
  EXPECT_EQ(out.max.real, 5);
  EXPECT_EQ(out.min.real, 1);
  EXPECT_EQ(out.mean.real, 3);
  EXPECT_EQ(out.norm.kind, Number::Kind::kNone);
}

TEST(StatisticsTest, StridedAndExpandedViews) {
  std::vector<float> data(60);
  for (size_t i = 0; i < data.size(); i++) data[i] = static_cast<float>(i);
  // Every second column of a 6 x 10 matrix: 0, 2, ... 8, 10, ... 58.
  const Statistics part = Of(data, ElementType::kFloat32, {6, 5}, {10, 2});
  EXPECT_EQ(part.max.real, 58);
  EXPECT_EQ(part.mean.real, 29);
  const Statistics transposed = Of(data, ElementType::kFloat32, {10, 6}, {1, 10});
  EXPECT_EQ(transposed.mean.real, 29.5);
  const Statistics expanded = Of(data, ElementType::kFloat32, {4, 3}, {0, 1});
  EXPECT_EQ(expanded.mean.real, 1);
  EXPECT_FLOAT_EQ(static_cast<float>(expanded.norm.real), std::sqrt(20.0F));
}

// Every set of kernels against plain loops, at every length around the widths of vectors.
TEST(MomentsTest, AllSetsAgreeWithPlainLoops) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal(0.5F, 2.0F);
  for (const MomentKernels* const* set = AllMoments(); *set != nullptr; set++) {
    for (size_t size = 1; size < 3000; size += size < 200 ? 1 : 97) {
      std::vector<float> data(size);
      for (float& value : data) value = normal(random);
      const std::vector<uint16_t> brains = Brains(data);
      const std::vector<uint16_t> halves = Halves(data);
      FloatMoments moments[3];
      (*set)->float32(data.data(), size, &moments[0]);
      (*set)->bfloat16(brains.data(), size, &moments[1]);
      (*set)->float16(halves.data(), size, &moments[2]);
      for (int kind = 0; kind < 3; kind++) {
        double sum = 0;
        double squares = 0;
        float max = -std::numeric_limits<float>::infinity();
        for (size_t i = 0; i < size; i++) {
          const float value = kind == 0   ? data[i]
                              : kind == 1 ? base::BFloat16ToFloat(brains[i])
                                          : base::HalfToFloat(halves[i]);
          sum += static_cast<double>(value);
          squares += static_cast<double>(value) * static_cast<double>(value);
          max = std::max(max, value);
        }
        ASSERT_NEAR(moments[kind].sum, sum, 1e-6 * squares + 1e-6) << kind << ", " << size;
        ASSERT_NEAR(moments[kind].sum_of_squares, squares, 2e-6 * squares) << kind << ", " << size;
        ASSERT_EQ(moments[kind].max, max) << kind << ", " << size;
        ASSERT_FALSE(moments[kind].has_nan);
      }
    }
  }
}

TEST(MomentsTest, AllSetsReadEveryHalf) {
  for (const MomentKernels* const* set = AllMoments(); *set != nullptr; set++) {
    for (uint32_t bits = 0; bits < 0x10000; bits++) {
      const auto half = static_cast<uint16_t>(bits);
      const float expected = base::HalfToFloat(half);
      FloatMoments moments;
      (*set)->float16(&half, 1, &moments);
      if (std::isnan(expected)) {
        ASSERT_TRUE(moments.has_nan) << bits;
      } else {
        ASSERT_EQ(moments.max, expected) << bits;
        ASSERT_EQ(moments.min, expected) << bits;
      }
    }
  }
}

}  // namespace
}  // namespace sonde::probe
