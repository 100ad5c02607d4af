// Hardware counters of tasks (ffts_profile.data; of chips before STARS aicore.data and
// aiVectorCore.data): records and their metrics.
//
// A record has the cycles of a task and eight counters (newer chips ten); sample.json names the
// events and the group of metrics that is computed from them. A task on both kinds of cores has a
// record for one of them, and one for each block of the other; on newer chips one for the other.
// Newer chips record the time of the cores; for older chips it is computed from the cycles. Records
// with overflown counters are left out, as in the vendor's tool. Times in microseconds,
// bandwidths in units of 2^30 bytes a second, as the vendor's tables have them. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "importers/ascend_raw/device_records.h"

namespace sonde::importers::raw {

inline constexpr RecordForm kPmuForm{128};

struct PmuRecord {
  TaskPlace place = {};
  uint32_t context = kNoContext;
  uint64_t begin = 0;  // ticks of the device; of newer chips only
  uint64_t end = 0;
  uint64_t cycles = 0;
  std::array<uint64_t, 10> counters = {};
  bool is_mix = false;
  bool is_main = true;     // of the task's own kind of cores
  bool is_vector = false;  // counted on vector cores, else on cube cores
  bool is_block = false;   // of the other kind of cores than the task's own
  bool is_taken = false;
};
// Blocks of newer chips, and overflown or unknown records, are not for ReadPmu.
enum class PmuKind : uint8_t { kTask, kBlock, kOverflown, kUnknown };
PmuKind KindOfPmu(std::string_view record, const Chip& chip);
PmuRecord ReadPmu(std::string_view record, const Chip& chip, bool expands_streams);
// Of chips before STARS; it has no time.
PmuRecord ReadOldPmu(std::string_view record, bool is_vector);

// The counters of one kind of cores.
struct CoreCounters {
  std::string group;             // "PipeUtilization"; "": nothing
  std::vector<uint32_t> events;  // of the slots
  int64_t cores = 0;
};

// Settings of a device's counters, from its sample.json and info.json.
struct PmuSettings {
  CoreCounters cube;
  CoreCounters vector;
  bool is_of_tasks = false;         // else records are samples of cores
  bool is_vector_of_tasks = false;  // the same, where vector cores have a stream of their own
};
PmuSettings PmuSettingsOf(const std::string& device_folder, int64_t cube_cores,
                          int64_t vector_cores);

struct Counted {
  uint64_t cycles = 0;
  std::array<uint64_t, 10> counters = {};
  int64_t blocks = 0;
  std::optional<double> time_us = {};  // as it was measured
  double time_mhz = 0;                 // in force when the task ended
  double bandwidth_mhz = 0;            // configured
};
// The metrics of a kind of cores: those of its group with all of their counters.
class CoreMetrics {
 public:
  CoreMetrics(const Chip& chip, CoreCounters core, bool is_vector);

  // As kernel_details.csv names them; without the kind of cores where a task has but one.
  const std::vector<std::string>& columns() const { return columns_; }
  // A value for each column.
  void Compute(const Counted& counted, std::vector<double>& values) const;

 private:
  enum class Kind : uint8_t { kTotalTime, kCycles, kMetric, kTimeOfMetric };
  struct Source {
    Kind kind = Kind::kMetric;
    size_t metric = 0;                  // of the table of the chip
    std::array<uint8_t, 5> slots = {};  // of the counters of its terms
  };

  CoreCounters core_;
  bool is_v6_;
  std::vector<std::string> columns_;
  std::vector<Source> sources_;  // of the columns
};

}  // namespace sonde::importers::raw
