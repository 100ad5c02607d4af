// The hardware counters of a device's tasks, and the frequency of its cores.
//
// A record belongs to the task of its place in whose time it ends; those of chips before STARS have
// no time: the first of a place is that of its first task. Times of counters are made with the
// frequency that was in force then, or are those that were measured. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "importers/ascend_raw/device_layer.h"
#include "importers/ascend_raw/pmu.h"
#include "importers/rows/number_table.h"

namespace sonde::importers::raw {

class PmuLayer {
 public:
  PmuLayer(TraceRows& rows, const DeviceLayer& device, const std::string& device_folder);

  // False where nothing is made of the stream.
  bool Read(const Stream& stream, bool expands_streams);
  // Metrics of the tasks; `tasks`: the row of each, store::kNone without one.
  void AddMetrics(const Records<RanTask>& ran, const Records<int32_t>& tasks,
                  const HostLayer& host);
  // The frequency as a counter.
  void AddFrequency(int64_t pid);

 private:
  // The metrics of a kind of cores, and the names of their columns.
  struct Side {
    CoreMetrics metrics;
    std::vector<int32_t> names = {};
  };

  // The records of a place, in the order of their ends: keys are sorted instead of the large
  // records.
  struct Key {
    uint64_t place = 0;  // stream and task
    uint64_t end = 0;
    uint32_t context = kNoContext;
    uint32_t index = 0;  // of records_
  };

  void ReadFrequency(std::string_view record);
  double FrequencyAt(uint64_t ticks) const;
  void SortKeys();
  std::span<const Key> RecordsOf(const RanTask& ran);
  std::span<const Key> NextOf(uint64_t place);  // where no record has a time
  void AddOf(const RanTask& ran, int32_t task, const HostLayer& host);
  enum class Part : uint8_t { kMain, kOther, kBlock };
  const PmuRecord* Take(std::span<const Key> of_task, Part part);
  // The counters of the other kind of cores in the task.
  void AddOther(std::span<const Key> of_task, int64_t blocks, Counted& other);
  std::optional<double> TimeOf(const PmuRecord& record) const;
  void Keep(std::string_view record, bool expands_streams);
  void AddBound(const Side& side, int32_t task);  // of values_, which are those of the side
  void AddUtilization(const Counted& cube, int32_t task);  // of the cube cores
  void AddSide(Side& side, const Counted& counted, int32_t task);

  TraceRows& rows_;
  const DeviceLayer& device_;
  DeviceInfo info_;
  PmuSettings settings_;
  Side cube_;
  Side vector_;
  std::vector<double> values_;  // of one task's metrics
  Records<PmuRecord> records_;
  Records<Key> keys_;
  size_t last_key_ = 0;                               // where the last search ended
  NumberTable<size_t> next_keys_;                     // of places whose records have no time
  double first_mhz_;                                  // when recording began
  bool is_broken_ = false;                            // a frequency of 0 was recorded
  std::vector<std::pair<uint64_t, double>> changes_;  // ticks, MHz
  bool has_frequency_ = false;
};

}  // namespace sonde::importers::raw
