// Converts the ticks of raw records to nanoseconds of the Unix epoch.
//
// Ticks count since the start of the machine at a frequency that is no whole number of megahertz
// everywhere. A clock knows the ticks and the monotonic time of one instant, and the difference
// between monotonic time and wall clock. Integer arithmetic; results beyond 64 bits are -1. Pure.
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
  int64_t began_ns = 0;              // when recording began, by the wall clock; 0 unknown
  bool is_known = false;             // false: times stay as they are

  int64_t FromTicks(uint64_t ticks) const;
  int64_t FromMonotonic(int64_t ns) const;
};

// Thousandths of "100.000000", 50, "38.4"; 0 where it is no such number or beyond 10 THz.
int64_t KilohertzOf(std::string_view megahertz);

// The value of "key: value" lines; nothing where the key is missing or its value is no number.
std::optional<int64_t> LogValue(std::string_view text, std::string_view key);

// Of a folder PROF_*/device_<N>, whose ticks are those of the device; nothing where one of its
// parts is missing. The time of day comes from the host's folder where the device's has none.
std::optional<Clock> DeviceClockOf(const std::string& device_folder, int32_t device,
                                   const Clock& host);

// Clocks of the values that a device samples.
struct SampleClocks {
  std::optional<int64_t> device_start_ns;  // of its own monotonic clock, at the clock's start
  std::optional<Clock> driver;             // of ticks that the driver takes on the host
  bool is_version_2 = false;               // of the layouts
};
SampleClocks SampleClocksOf(const std::string& device_folder, int32_t device, const Clock& host,
                            const Clock& device_clock);

// The facts in info.json of a device.
struct DeviceInfo {
  int64_t chip = -1;
  double aic_mhz = 0;  // configured
  int64_t aic_count = 0;
  int64_t aiv_count = 0;
};
DeviceInfo DeviceInfoOf(const std::string& device_folder, int32_t device);

// The process that was profiled, from PROF_*/host; 0 where unknown.
int64_t PidOf(const std::string& prof_folder);

// Of the folder PROF_*/host, nothing where it lacks one of its parts.
std::optional<Clock> HostClockOf(const std::string& prof_folder);

// Of the framework's records in a span folder: the clock of the PROF_*/host in the same folder,
// where that is complete, else the one in profiler_info*.json.
Clock FrameworkClockOf(const std::string& span_folder);

}  // namespace sonde::importers::raw
