// The folder of one device (PROF_*/device_<N>), read stream by stream and turned into rows.
//
// One thread. Memory: that of its layers.
#pragma once

#include <cstdint>
#include <string>

#include "importers/ascend_raw/aicpu.h"
#include "importers/ascend_raw/cache_rates.h"
#include "importers/ascend_raw/core_instructions.h"
#include "importers/ascend_raw/device_layer.h"
#include "importers/ascend_raw/device_rows.h"
#include "importers/ascend_raw/host_facts.h"
#include "importers/ascend_raw/marks.h"
#include "importers/ascend_raw/newer_units.h"
#include "importers/ascend_raw/pmu_layer.h"
#include "importers/ascend_raw/sampled.h"
#include "importers/ascend_raw/soc_values.h"
#include "importers/ascend_raw/system_usage.h"

namespace sonde::importers::raw {

class DevicePart {
 public:
  // `clock`: of the device's ticks; `pid`: of the process that it worked for.
  DevicePart(TraceRows& rows, const Clock& clock, const Chip& chip, const ProfPart& part,
             const Clock& host_clock, int64_t pid)
      : rows_(rows),
        folder_(part.folder),
        pid_(pid),
        layer_(rows, clock, chip, part.device),
        pmu_(rows, layer_, part.folder),
        sampled_(rows, layer_, part.folder, host_clock, pid),
        soc_(rows, layer_, part.folder, pid),
        aicpu_(rows, layer_, pid),
        rates_(rows, layer_, part.folder),
        units_(rows, layer_, pid),
        instructions_(rows, layer_, part.folder, pid),
        system_(rows, [this](int64_t ns) { return sampled_.OfDevice(ns); }, part.device, pid) {}
  DevicePart(const DevicePart&) = delete;
  DevicePart& operator=(const DevicePart&) = delete;

  // False where nothing is made of the stream. Streams in any order.
  bool Read(const Stream& stream, bool expands_streams);
  // When all are read, and the host's are built.
  void Build(HostLayer& host, const HostFacts& facts, const Marks& marks, DeviceTables& tables);

 private:
  TraceRows& rows_;
  std::string folder_;
  int64_t pid_;
  DeviceLayer layer_;
  PmuLayer pmu_;
  SampledValues sampled_;
  SocValues soc_;
  AiCpu aicpu_;
  CacheRates rates_;
  NewerUnits units_;
  CoreInstructions instructions_;
  SystemUsage system_;
};

}  // namespace sonde::importers::raw
