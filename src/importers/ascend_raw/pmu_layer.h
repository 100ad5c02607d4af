// The hardware counters of a device's tasks, and the frequency of its cores.
//
// A record belongs to the task of its place in whose time it ends. Times of counters are made with
// the frequency that was in force then, or are those that were measured. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "importers/ascend_raw/device_layer.h"
#include "importers/ascend_raw/pmu.h"

namespace sonde::importers::raw {

class PmuLayer {
 public:
  PmuLayer(TraceRows& rows, const DeviceLayer& device, const std::string& device_folder);

  // False where nothing is made of the stream.
  bool Read(const Stream& stream, bool expands_streams);
  // Metrics of the tasks; `tasks`: the row of each, store::kNone without one.
  void AddMetrics(const std::vector<RanTask>& ran, const std::vector<int32_t>& tasks,
                  const HostLayer& host);
  // The frequency as a counter.
  void AddFrequency(int64_t pid);

 private:
  using Place = std::tuple<uint16_t, uint32_t, uint32_t>;  // stream, task, context

  void ReadFrequency(std::string_view record);
  double FrequencyAt(uint64_t ticks) const;
  void AddOf(const RanTask& ran, int32_t task, const HostLayer& host);
  enum class Part : uint8_t { kMain, kOther, kBlock };
  const PmuRecord* Take(std::vector<const PmuRecord*>& of_place, const RanTask& ran, Part part);
  // What the other kind of cores counted in the task.
  void AddOther(std::vector<const PmuRecord*>& of_place, const RanTask& ran, int64_t blocks,
                Counted& other);
  std::optional<double> TimeOf(const PmuRecord& record) const;
  void Keep(std::string_view record, bool expands_streams);
  void AddSide(const Counted& counted, bool is_vector, int32_t task);

  TraceRows& rows_;
  const DeviceLayer& device_;
  DeviceInfo info_;
  PmuSettings settings_;
  std::vector<PmuRecord> records_;
  std::map<Place, std::vector<const PmuRecord*>> of_place_;  // by end
  double first_mhz_;                                         // when recording began
  std::vector<std::pair<uint64_t, double>> changes_;         // ticks, MHz
  bool has_frequency_ = false;
};

}  // namespace sonde::importers::raw
