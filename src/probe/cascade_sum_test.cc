#include "probe/cascade_sum.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

namespace sonde::probe {
namespace {

// The sums that torch 2.15 gives on one thread for 1.1F * float((i % 97 - 48) / 7.0), i < count.
TEST(CascadeSumTest, IsTorchsSum) {
  const std::vector<std::pair<size_t, double>> expected = {{7, -49.5},
                                                           {8, -55.94285583496094},
                                                           {100, -22.15713882446289},
                                                           {1000, -157.92857360839844},
                                                           {32768, -111.72842407226562}};
  for (const auto& [count, sum] : expected) {
    std::vector<float> data(count);
    for (size_t i = 0; i < count; i++) {
      data[i] = static_cast<float>((static_cast<double>(i % 97) - 48) / 7.0) * 1.1F;
    }
    EXPECT_EQ(static_cast<double>(CascadeSum(data.data(), count)), sum) << count;
  }
}

TEST(CascadeSumTest, EmptyAndSpecialValues) {
  EXPECT_EQ(CascadeSum(nullptr, 0), 0.0F);
  const std::vector<float> infinite = {1, HUGE_VALF, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_EQ(CascadeSum(infinite.data(), infinite.size()), HUGE_VALF);
  const std::vector<float> both = {-HUGE_VALF, HUGE_VALF};
  EXPECT_TRUE(std::isnan(CascadeSum(both.data(), both.size())));
}

}  // namespace
}  // namespace sonde::probe
