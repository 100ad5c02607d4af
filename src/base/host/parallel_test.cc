#include "base/host/parallel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <string>
#include <vector>

namespace sonde::base {
namespace {

TEST(Parallel, ForCoversEveryIndexOnce) {
  for (const size_t count : {size_t{0}, size_t{1}, size_t{1000}}) {
    for (const size_t grain : {size_t{1}, size_t{7}, size_t{5000}}) {
      std::vector<int> seen(count);
      ParallelFor(count, {.max_threads = 3, .grain_size = grain}, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) ++seen[i];
      });
      EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), static_cast<std::ptrdiff_t>(count));
    }
  }
}

TEST(Parallel, StatusIsTheFirstFailureByIndexOfThoseThatRan) {
  const Status status = ParallelForStatus(100, {.max_threads = 1}, [](size_t i) {
    return i >= 40 ? InternalError(std::to_string(i)) : Status::Ok();
  });
  EXPECT_EQ(status.message(), "40");
  EXPECT_TRUE(ParallelForStatus(10, {}, [](size_t) { return Status::Ok(); }).ok());
}

TEST(Parallel, NestedLoopsFinish) {
  std::atomic<int> sum = 0;
  ParallelFor(8, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      ParallelFor(10, [&](size_t b, size_t e) { sum += static_cast<int>(e - b); });
    }
  });
  EXPECT_EQ(sum, 80);
}

TEST(TaskGroup, WaitsForTasksOfTasks) {
  std::atomic<int> sum = 0;
  TaskGroup group;
  for (int i = 0; i < 50; ++i) {
    group.Run([&] {
      ++sum;
      group.Run([&] { ++sum; });
    });
  }
  group.Wait();
  EXPECT_EQ(sum, 100);
  group.Run([&] { ++sum; });
  group.Wait();
  EXPECT_EQ(sum, 101);
}

}  // namespace
}  // namespace sonde::base
