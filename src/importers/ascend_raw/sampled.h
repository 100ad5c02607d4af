// Values that a device samples by time: memory, links, networks, as counters.
//
// Files have a layout and a clock each: microseconds since the start, the device's monotonic
// nanoseconds, its ticks, ticks of the host, or the time of day. Counters have the names and units
// of databases (ascend/counter_tables.h). One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "importers/ascend_raw/device_layer.h"

namespace sonde::importers::raw {

class SampledValues {
 public:
  // `host_clock`: of the ticks that the driver takes on the host.
  SampledValues(TraceRows& rows, const DeviceLayer& device, const std::string& device_folder,
                const Clock& host_clock, int64_t pid);

  // False where nothing is made of the stream.
  bool Read(const Stream& stream);
  // A moment of the device's own monotonic clock; -1 unknown.
  int64_t OfDevice(std::optional<int64_t> monotonic) const;

 private:
  void Add(std::string_view name, int64_t ts, double value);
  int64_t SinceStart(uint64_t microseconds) const;  // as a moment
  void ReadHbm(const Stream& stream);
  void ReadNpuMemory(const Stream& stream);
  void ReadModules(const Stream& stream);
  void ReadPcie(const Stream& stream);
  void ReadHccs(const Stream& stream);
  void ReadPorts(const Stream& stream, std::string_view label);
  void ReadNetworkDevice(const Stream& stream);
  void ReadUnifiedBus(const Stream& stream);
  enum class CoreKind : uint8_t { kCube, kVector, kByNumber };
  void ReadImageUnits(const Stream& stream);
  void ReadCores(const Stream& stream, CoreKind kind);
  void ReadVoltage(const Stream& stream);

  TraceRows& rows_;
  const DeviceLayer& device_;
  SampleClocks clocks_;
  const Clock& host_clock_;
  bool has_samples_of_cores_;    // in place of counters of tasks
  bool has_samples_of_vectors_;  // the same, where vector cores have a stream of their own
  double core_mhz_;              // configured
  int64_t pid_;
};

}  // namespace sonde::importers::raw
