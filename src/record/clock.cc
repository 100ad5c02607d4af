#include "record/clock.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "base/clock.h"
#include "record/fast_path.h"

namespace sonde::record {
namespace {

#if defined(__x86_64__)
// The kernel removes "tsc" from the list when the counters of two cores differ.
bool KernelTrustsTsc() {
  const int fd = open("/sys/devices/system/clocksource/clocksource0/available_clocksource",
                      O_RDONLY | O_CLOEXEC);
  if (fd < 0) return true;  // cannot ask (container without /sys): believe the processor
  char text[256];
  const ssize_t n = read(fd, text, sizeof(text) - 1);
  close(fd);
  if (n <= 0) return true;
  text[n] = '\0';
  return std::strstr(text, "tsc") != nullptr;
}
#endif

capture::ClockKind Decide() {
  const char* wish = std::getenv("SONDE_CLOCK");
  if (wish != nullptr && std::strcmp(wish, "raw") == 0) return capture::ClockKind::kMonotonicRawNs;
#if defined(__x86_64__)
  if (base::TscIsInvariant() && KernelTrustsTsc()) return capture::ClockKind::kTsc;
  return capture::ClockKind::kMonotonicRawNs;
#elif defined(__aarch64__)
  return capture::ClockKind::kTsc;  // the generic timer has one fixed rate by its architecture
#else
  return capture::ClockKind::kMonotonicRawNs;
#endif
}

}  // namespace

capture::ClockKind RecorderClock() {
  static const capture::ClockKind kind = Decide();
  return kind;
}

int64_t MonotonicNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

capture::ClockSampleEntry TakeClockSample(capture::ClockKind kind) {
  capture::ClockSampleEntry best{};
  for (int i = 0; i < 5; ++i) {
    const int64_t raw_before = base::MonotonicRawNs();
    const int64_t realtime_before = base::RealtimeNs();
    uint64_t ticks = Ticks(kind == capture::ClockKind::kTsc);
    const int64_t realtime_after = base::RealtimeNs();
    const int64_t raw_after = base::MonotonicRawNs();
    const int64_t width = raw_after - raw_before;
    if (i > 0 && width >= best.uncertainty_ns) continue;
    const int64_t raw = raw_before + width / 2;
    if (kind != capture::ClockKind::kTsc) ticks = static_cast<uint64_t>(raw);
    best = {ticks, raw, realtime_before + (realtime_after - realtime_before) / 2, width};
  }
  return best;
}

}  // namespace sonde::record

extern "C" uint64_t sonde_ticks_slow_(void) {
  using sonde::record::RecorderClock;
  if (RecorderClock() == sonde::capture::ClockKind::kTsc) return sonde::record::Ticks(true);
  return static_cast<uint64_t>(sonde::base::MonotonicRawNs());
}
