// How the ticks of raw records become nanoseconds of the Unix epoch.
//
// Ticks count since the start of the machine at a frequency that is no whole number of megahertz
// everywhere. A clock knows the ticks and the monotonic time of one instant, and what monotonic
// time and wall clock differ by. Integer arithmetic; results beyond 64 bits are -1. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sonde::importers::raw {

struct Clock {
  uint64_t start_ticks = 0;
  int64_t start_ns = 0;              // monotonic, at start_ticks
  int64_t kilohertz = 0;             // 0: ticks are nanoseconds of the monotonic clock
  std::optional<int64_t> wall = {};  // wall clock - monotonic
  bool is_known = false;             // false: times stay as they are

  int64_t FromTicks(uint64_t ticks) const;
  int64_t FromMonotonic(int64_t ns) const;
};

// Thousandths of "100.000000", 50, "38.4"; 0 where it is no such number or beyond 10 THz.
int64_t KilohertzOf(std::string_view megahertz);

// The value of "key: value" lines; nothing where the key is not there or its value is no number.
std::optional<int64_t> LogValue(std::string_view text, std::string_view key);

// Of the folder PROF_*/host, nothing where it lacks one of its parts.
std::optional<Clock> HostClockOf(const std::string& prof_folder);

// Of the framework's records in a span folder: the clock of PROF_*/host beside them, where that is
// whole, else what profiler_info*.json holds.
Clock FrameworkClockOf(const std::string& span_folder);

}  // namespace sonde::importers::raw
