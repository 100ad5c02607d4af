// Samples of the host, as counters: the use of its processors by the process, of memory, disks and
// network (host_cpu.data, host_mem.data, host_disk.data, host_network.data).
//
// Texts that the collector took from /proc and from iotop; moments are nanoseconds of the monotonic
// clock. Counters have the names and units of databases (ascend/counter_tables.h). A value holds
// from the sample before on, so that the last sample has none; network traffic beyond the speed of
// a card is kept. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "importers/ascend_raw/clock.h"
#include "importers/ascend_raw/record_stream.h"
#include "importers/rows/trace_rows.h"

namespace sonde::importers::raw {

class HostUsage {
 public:
  // `host_folder`: with info.json and sample.json; `pid`: of the process that was profiled.
  HostUsage(TraceRows& rows, const Clock& clock, const std::string& host_folder, int64_t pid);

  // False where nothing is made of the stream.
  bool Read(const Stream& stream);

 private:
  void Add(std::string_view name, int64_t monotonic, double value);
  void ReadProcessors(const Stream& stream);
  void ReadMemory(const Stream& stream);
  void ReadDisk(const Stream& stream);
  void ReadNetwork(const Stream& stream);

  TraceRows& rows_;
  const Clock& clock_;
  int64_t pid_;
  double memory_kilobytes_ = 0;          // 0 unknown
  double processors_ = 0;                // their number; 0 unknown
  double ticks_per_second_ = 0;          // of the kernel's accounting; 0 unknown
  double disk_samples_ = 0;              // a second; 0 unknown
  std::map<std::string, double> cards_;  // speed of network cards, bytes a second
};

}  // namespace sonde::importers::raw
