#include "base/host/spill.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <thread>

#include "base/test_folder.h"

namespace sonde::base {
namespace {

TEST(Spill, VectorsKeepTheirElements) {
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

// Pages leave while other threads write to theirs: no content may be lost.
TEST(Spill, ThreadsShareAPoolThatIsRelieved) {
  const TestFolder folder;
  SpillPool pool({.folder = folder.path(), .keep_bytes = 0, .resident_bytes = 0});
  const auto work = [&pool](uint64_t seed) {
    SpillSteps steps(&pool);
    for (int round = 0; round < 4; ++round) {
      SpillVector<uint64_t> values(600'000, seed, SpillAllocator<uint64_t>(&pool));
      for (uint64_t i = 0; i < values.size(); ++i) {
        steps.Next();
        values[i] += i;
      }
      pool.Relieve();
      for (uint64_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], seed + i);
    }
  };
  {
    const std::jthread other(work, 1);
    work(uint64_t{1} << 40U);
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
