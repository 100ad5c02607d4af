#include "importers/ascend_raw/device_part.h"

#include "importers/ascend_raw/step_trace.h"

namespace sonde::importers::raw {

bool DevicePart::Read(const Stream& stream, bool expands_streams) {
  const auto other = [this](std::string_view record) {
    if (!units_.Take(record)) soc_.Take(record);
  };
  return layer_.Read(stream, expands_streams, other) || pmu_.Read(stream, expands_streams) ||
         sampled_.Read(stream) || soc_.Read(stream) || aicpu_.Read(stream, expands_streams) ||
         rates_.Read(stream) || units_.Read(stream) || instructions_.Read(stream) ||
         system_.Read(stream);
}

void DevicePart::Build(HostLayer& host, const HostFacts& facts, const Marks& marks,
                       DeviceTables& tables) {
  const Records<RanTask> ran = layer_.Join(host);
  AiCpuCommunication launched(facts.communicators(), aicpu_.communication());
  launched.Find(layer_, ran, host, rows_.names);
  const Records<int32_t> rows = tables.Add(layer_, ran, launched);
  pmu_.AddMetrics(ran, rows, host);
  pmu_.AddFrequency(pid_);
  aicpu_.Build(ran, host);
  rates_.Build(ran, rows);
  units_.Build(host, facts.units());
  StepTrace steps(rows_, layer_, folder_, pid_);
  steps.AddMarks(marks);
  steps.AddIterations();
}

}  // namespace sonde::importers::raw
