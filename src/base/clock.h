// Clocks: the CPU's counter (TSC), CLOCK_MONOTONIC_RAW and CLOCK_REALTIME in nanoseconds, and
// samples that pair all three so that counter values can be turned into times later.
//
// Units: *_ns are nanoseconds, *_ticks are counter ticks. Pure, any thread.
#pragma once

#include <time.h>

#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace sonde::base {

// The counter, unordered against neighbouring instructions: the cheapest time stamp there is.
inline uint64_t ReadTsc() {
#if defined(__x86_64__)
  return __rdtsc();
#elif defined(__aarch64__)
  uint64_t ticks;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<uint64_t>(now.tv_nsec);
#endif
}

int64_t MonotonicRawNs();
int64_t RealtimeNs();

// One moment seen by three clocks.
struct ClockSample {
  uint64_t tsc_ticks = 0;
  int64_t monotonic_raw_ns = 0;
  int64_t realtime_ns = 0;
  // Width of the counter readings around the two clocks: the pairing is at most this far off.
  uint64_t spread_ticks = 0;
};

// The tightest of `attempts` pairings; an attempt costs about 0.1 us, a preemption spoils one.
ClockSample SampleClocks(int attempts = 16);

// True where the counter runs at one rate in all power states and on all cores.
bool TscIsInvariant();

// Counter ticks a second, measured over `window_ns` against CLOCK_MONOTONIC_RAW (blocks as long),
// or as the CPU states it where it does.
double MeasureTscHz(int64_t window_ns = 10'000'000);

}  // namespace sonde::base
