#include "base/bits.h"

#include <gtest/gtest.h>

#include <bit>

namespace sonde::base {
namespace {

TEST(CountBitsTest, CountsAsTheLibraryDoes) {
  EXPECT_EQ(CountBits(0), 0);
  EXPECT_EQ(CountBits(~uint64_t{0}), 64);
  uint64_t bits = 0x9e3779b97f4a7c15U;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(CountBits(bits), std::popcount(bits));
    bits = bits * 6364136223846793005U + 1442695040888963407U;
  }
}

}  // namespace
}  // namespace sonde::base
