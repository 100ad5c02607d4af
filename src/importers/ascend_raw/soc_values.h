// Values of a chip outside its cores: traffic of its accelerators, memories and dies, as counters
// (stars_soc_profile.data, qos.data, llc.data, ddr.data).
//
// Counters have the names and units of databases (ascend/counter_tables.h); rates begin with the
// second sample. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "importers/ascend_raw/device_layer.h"

namespace sonde::importers::raw {

class SocValues {
 public:
  SocValues(TraceRows& rows, const DeviceLayer& device, const std::string& device_folder,
            int64_t pid);

  // False where nothing is made of the stream.
  bool Read(const Stream& stream);
  // A record of the scheduler's log without a task; false where it is of another kind.
  bool Take(std::string_view record);

 private:
  struct Sample {
    int64_t ts = 0;
    uint32_t part = 0;
    uint32_t event = 0;
    uint64_t count = 0;
  };

  void Add(std::string_view name, int64_t ts, double value);
  void TakeAccelerator(std::string_view record);
  void TakeLevels(std::string_view record);
  void TakeDies(std::string_view record);
  bool TakeLinks(std::string_view record);
  void TakePower(std::string_view record);
  void TakeQos(std::string_view record, size_t time_at, bool has_die);
  void ReadLlc(const Stream& stream);
  void AddLlc(uint32_t part, int64_t ts, const std::map<uint32_t, uint64_t>& counts);
  void ReadDdr(const Stream& stream);
  int64_t SinceStart(uint64_t microseconds) const;

  TraceRows& rows_;
  const DeviceLayer& device_;
  int64_t pid_;
  std::string llc_mode_;                    // "read", "write"; others are left out
  std::vector<std::string> qos_names_;      // by place
  std::map<uint32_t, int64_t> die_before_;  // nanoseconds, by accelerator
  std::map<uint32_t, int64_t> llc_before_;  // by part
  bool is_version_2_ = false;
};

}  // namespace sonde::importers::raw
