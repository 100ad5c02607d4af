#include "base/float16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace sonde::base {
namespace {

TEST(Float16, EveryHalfSurvivesTheWayToFloatAndBack) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float value = HalfToFloat(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(HalfToFloat(FloatToHalf(value))));
    } else {
      EXPECT_EQ(FloatToHalf(value), half);
    }
  }
}

TEST(Float16, HalfRoundsToNearestEven) {
  EXPECT_EQ(FloatToHalf(1.0F), 0x3c00);
  EXPECT_EQ(FloatToHalf(1.0F + 0x1p-11F), 0x3c00);             // half way, even below
  EXPECT_EQ(FloatToHalf(1.0F + 0x1p-10F + 0x1p-11F), 0x3c02);  // half way, even above
  EXPECT_EQ(FloatToHalf(1.0F + 0x1p-11F + 0x1p-20F), 0x3c01);  // just above half way
  EXPECT_EQ(FloatToHalf(65504.0F), 0x7bff);
  EXPECT_EQ(FloatToHalf(65519.9F), 0x7bff);
  EXPECT_EQ(FloatToHalf(65520.0F), 0x7c00);
  EXPECT_EQ(FloatToHalf(-std::numeric_limits<float>::infinity()), 0xfc00);
  EXPECT_EQ(FloatToHalf(0x1p-24F), 0x0001);
  EXPECT_EQ(FloatToHalf(0x1p-25F), 0x0000);
  EXPECT_EQ(FloatToHalf(0x1.8p-24F), 0x0002);
  EXPECT_EQ(FloatToHalf(-0.0F), 0x8000);
}

TEST(Float16, BFloat16RoundsToNearestEven) {
  EXPECT_EQ(FloatToBFloat16(1.0F), 0x3f80);
  EXPECT_EQ(FloatToBFloat16(1.0F + 0x1p-8F), 0x3f80);
  EXPECT_EQ(FloatToBFloat16(1.0F + 0x1p-7F + 0x1p-8F), 0x3f82);
  EXPECT_EQ(FloatToBFloat16(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_TRUE(std::isnan(BFloat16ToFloat(FloatToBFloat16(std::nanf("")))));
  EXPECT_EQ(BFloat16ToFloat(0xc049), -3.140625F);
}

}  // namespace
}  // namespace sonde::base
