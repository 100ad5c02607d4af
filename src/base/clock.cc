#include "base/clock.h"

#include <limits>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace sonde::base {
namespace {

int64_t ReadClockNs(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);  // cannot fail: both clocks exist on every Linux we run on
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

int64_t MonotonicRawNs() { return ReadClockNs(CLOCK_MONOTONIC_RAW); }
int64_t RealtimeNs() { return ReadClockNs(CLOCK_REALTIME); }

ClockSample SampleClocks(int attempts) {
  ClockSample best;
  best.spread_ticks = std::numeric_limits<uint64_t>::max();
  for (int i = 0; i < attempts || i == 0; ++i) {
    const uint64_t before = ReadTsc();
    const int64_t monotonic_raw_ns = MonotonicRawNs();
    const uint64_t middle = ReadTsc();
    const int64_t realtime_ns = RealtimeNs();
    const uint64_t after = ReadTsc();
    // A virtual machine may step its counter back when it moves; such a pairing is worthless.
    if (after < before) continue;
    if (after - before >= best.spread_ticks) continue;
    best = {middle, monotonic_raw_ns, realtime_ns, after - before};
  }
  if (best.spread_ticks == std::numeric_limits<uint64_t>::max()) {
    best = {ReadTsc(), MonotonicRawNs(), RealtimeNs(), best.spread_ticks};
  }
  return best;
}

bool TscIsInvariant() {
#if defined(__x86_64__)
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  if (__get_cpuid(0x80000007U, &eax, &ebx, &ecx, &edx) == 0) return false;
  return (edx & (1U << 8U)) != 0;
#else
  return true;  // the generic timer of ARM, or CLOCK_MONOTONIC_RAW itself
#endif
}

double MeasureTscHz([[maybe_unused]] int64_t window_ns) {
#if defined(__aarch64__)
  uint64_t hz;
  asm volatile("mrs %0, cntfrq_el0" : "=r"(hz));
  return static_cast<double>(hz);
#else
  const ClockSample first = SampleClocks();
  timespec pause{window_ns / 1'000'000'000, window_ns % 1'000'000'000};
  nanosleep(&pause, nullptr);  // cut short by a signal only makes the window shorter
  const ClockSample last = SampleClocks();
  const auto ticks = static_cast<double>(last.tsc_ticks - first.tsc_ticks);
  return ticks * 1e9 / static_cast<double>(last.monotonic_raw_ns - first.monotonic_raw_ns);
#endif
}

}  // namespace sonde::base
