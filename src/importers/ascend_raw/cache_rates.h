// Hit rates of a task's accesses to the L2 cache and to the memory unit's translations
// (l2_cache.data, socpmu.data), and its page faults.
//
// sample.json assigns events to slots. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "importers/ascend_raw/device_layer.h"

namespace sonde::importers::raw {

class CacheRates {
 public:
  CacheRates(TraceRows& rows, const DeviceLayer& device, const std::string& device_folder);

  // False where nothing is made of the stream.
  bool Read(const Stream& stream);
  // When all are read: rates become arguments of the tasks.
  // `tasks`: the row of each, store::kNone without one.
  void Build(const Records<RanTask>& ran, const Records<int32_t>& tasks);

 private:
  enum class Kind : uint8_t { kCache, kTranslation, kPageFault };
  struct Sample {
    Kind kind = Kind::kCache;
    bool is_of_soc = false;  // its slots are those of the chip's list
    uint16_t stream = 0;
    uint32_t task = 0;
    std::vector<uint64_t> slots;
  };
  using Events = std::map<uint32_t, size_t>;  // slot, by event

  static Events EventsOf(std::string_view list);
  void Keep(const Sample& sample) { samples_.push_back(sample); }
  void ReadSoc(const Stream& stream);
  void Add(const Sample& sample, int32_t task);

  TraceRows& rows_;
  const DeviceLayer& device_;
  Events cache_;      // of l2_cache.data
  Events soc_cache_;  // of socpmu.data
  Events translations_;
  std::vector<Sample> samples_;
};

}  // namespace sonde::importers::raw
