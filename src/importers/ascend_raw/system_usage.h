// Samples of the operating system of the host, or of a device, as counters: processors
// (SystemCpuUsage.data, host_sys_cpu.data), memory (Memory.data, host_sys_mem.data), and both of
// single processes (<pid>-CpuUsage.data, <pid>-Memory.data).
//
// Blocks of "TimeStamp:<ns>", lines of /proc, and an empty line. Shares of time begin with the
// second sample. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "importers/ascend_raw/record_stream.h"
#include "importers/rows/trace_rows.h"

namespace sonde::importers::raw {

class SystemUsage {
 public:
  // The clock of the samples' moments, as nanoseconds of the Unix epoch.
  using ToMoment = std::function<int64_t(int64_t ns)>;

  // `device_id`: store::kNone for the host; `pid`: of the process that was profiled.
  SystemUsage(TraceRows& rows, ToMoment to_moment, int32_t device_id, int64_t pid)
      : rows_(rows), to_moment_(std::move(to_moment)), device_id_(device_id), pid_(pid) {}

  // False where nothing is made of the stream.
  bool Read(const Stream& stream);

 private:
  struct Times {  // of a processor, in ticks
    std::vector<int64_t> parts;
    int64_t all = 0;
  };

  void Add(const std::string& name, int64_t moment, double value);
  void ForEachBlock(const Stream& stream,
                    const std::function<void(int64_t, const std::vector<std::string_view>&)>& take);
  void ReadProcessors(const Stream& stream);
  void AddProcessor(const std::string& label, int64_t moment, const Times& times);
  void ReadMemory(const Stream& stream);
  void ReadTimesOfProcess(const Stream& stream, std::string_view process);
  void ReadPagesOfProcess(const Stream& stream, std::string_view process);

  TraceRows& rows_;
  ToMoment to_moment_;
  int32_t device_id_;
  int64_t pid_;
  std::map<std::string, Times> before_;  // by the processor's label
};

}  // namespace sonde::importers::raw
