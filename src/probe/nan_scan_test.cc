#include "probe/nan_scan.h"

#include <gtest/gtest.h>

#include <array>
#include <complex>
#include <limits>
#include <utility>
#include <vector>

namespace sonde::probe {
namespace {

template <class T>
bool Scan(const std::vector<T>& values, ElementType type) {
  const std::array<int64_t, 1> shape = {static_cast<int64_t>(values.size())};
  const std::array<int64_t, 1> strides = {1};
  return HasNan({.data = values.data(),
                 .type = type,
                 .element_bytes = sizeof(T),
                 .shape = shape,
                 .strides = strides});
}

template <class T>
void ExpectFoundAnywhere(ElementType type, T plain, T infinity, T nan) {
  for (const size_t size : {size_t{1}, size_t{7}, size_t{4096}, size_t{9001}}) {
    std::vector<T> values(size, plain);
    values[size / 2] = infinity;
    EXPECT_FALSE(Scan(values, type)) << size;
    for (const size_t place : {size_t{0}, size / 3, size - 1}) {
      const T before = std::exchange(values[place], nan);
      EXPECT_TRUE(Scan(values, type)) << place << " of " << size;
      values[place] = before;
    }
  }
}

TEST(NanScan, FindsItAnywhereAndTakesInfinityForANumber) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  ExpectFoundAnywhere(ElementType::kFloat32, 1.0F, -kInfinity, -nan);
  ExpectFoundAnywhere(ElementType::kFloat64, -1.0, std::numeric_limits<double>::infinity(),
                      std::numeric_limits<double>::signaling_NaN());
  ExpectFoundAnywhere<uint16_t>(ElementType::kFloat16, 0x3c00, 0xfc00, 0x7c01);
  ExpectFoundAnywhere<uint16_t>(ElementType::kBFloat16, 0xbf80, 0x7f80, 0xffc0);
  ExpectFoundAnywhere<std::complex<float>>(ElementType::kComplex64, {1, 2}, {0, kInfinity},
                                           {0, nan});
  ExpectFoundAnywhere<std::complex<double>>(ElementType::kComplex128, {1, 2}, {-1, 0}, {nan, 0});
}

TEST(NanScan, IntegersAndNothingHoldNone) {
  EXPECT_FALSE(Scan<int32_t>({0x7fffffff, -1}, ElementType::kInt32));
  EXPECT_FALSE(Scan<uint8_t>({0x7f, 0xff}, ElementType::kFloat8));
  EXPECT_FALSE(Scan<float>({}, ElementType::kFloat32));
}

TEST(NanScan, LooksAtTheElementsOfAViewOnly) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::array<float, 6> values = {1, nan, 2, nan, 3, nan};
  const std::array<int64_t, 1> shape = {3};
  const std::array<int64_t, 1> strides = {2};
  TensorView view = {.data = values.data(),
                     .type = ElementType::kFloat32,
                     .element_bytes = sizeof(float),
                     .shape = shape,
                     .strides = strides};
  EXPECT_FALSE(HasNan(view));
  view.data = values.data() + 1;
  EXPECT_TRUE(HasNan(view));
}

}  // namespace
}  // namespace sonde::probe
