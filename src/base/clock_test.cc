#include "base/clock.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sonde::base {
namespace {

TEST(Clock, SampleLiesBetweenReadings) {
  const int64_t before = MonotonicRawNs();
  const ClockSample sample = SampleClocks();
  const int64_t after = MonotonicRawNs();
  EXPECT_GE(sample.monotonic_raw_ns, before);
  EXPECT_LE(sample.monotonic_raw_ns, after);
  EXPECT_LE(std::llabs(sample.realtime_ns - RealtimeNs()), 1'000'000'000);
  EXPECT_GT(sample.tsc_ticks, 0U);
}

TEST(Clock, CounterRunsAtOneRate) {
  if (!TscIsInvariant()) GTEST_SKIP() << "the counter of this machine changes its rate";
  const double first = MeasureTscHz();
  const double second = MeasureTscHz();
  EXPECT_GT(first, 1e6);
  EXPECT_NEAR(first / second, 1.0, 0.01);
}

}  // namespace
}  // namespace sonde::base
