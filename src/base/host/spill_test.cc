#include "base/host/spill.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/test_folder.h"

namespace sonde::base {
namespace {

TEST(Spill, VectorsHoldWhatTheyWereGiven) {
  const TestFolder folder;
  SpillPool pool({.folder = folder.path(), .keep_bytes = size_t{4} << 20U, .resident_bytes = 0});
  {
    SpillVector<uint64_t> grown{SpillAllocator<uint64_t>(&pool)};
    for (uint64_t i = 0; i < 2'000'000; ++i) grown.push_back(i * i);
    EXPECT_GT(pool.spilled_bytes(), size_t{15} << 20U);
    SpillVector<uint32_t> sized(1'000'000, SpillAllocator<uint32_t>(&pool));
    std::iota(sized.rbegin(), sized.rend(), 0U);
    std::stable_sort(sized.begin(), sized.end());
    const SpillVector<uint64_t> moved = std::move(grown);
    for (uint64_t i = 0; i < moved.size(); ++i) ASSERT_EQ(moved[i], i * i);
    for (uint32_t i = 0; i < sized.size(); ++i) ASSERT_EQ(sized[i], i);
  }
  EXPECT_EQ(pool.spilled_bytes(), 0U);
}

TEST(Spill, WithoutAPoolTheHeapDoes) {
  SpillVector<int> plain;
  plain.resize(1'000'000, 3);
  const SpillVector<int> copy = plain;
  EXPECT_EQ(std::accumulate(copy.begin(), copy.end(), 0), 3'000'000);
}

TEST(Spill, WithoutAFolderItStaysMemory) {
  SpillPool pool({.folder = "/nonexistent", .keep_bytes = 0});
  SpillVector<uint64_t> values{SpillAllocator<uint64_t>(&pool)};
  values.resize(1'000'000, 5);
  EXPECT_EQ(values.back(), 5U);
  EXPECT_EQ(pool.spilled_bytes(), 0U);
}

}  // namespace
}  // namespace sonde::base
