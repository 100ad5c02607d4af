// What XLA's profiler (JAX, TensorFlow) writes as trace events: a process for each device, with
// lanes of steps, modules, operations and streams. Work of the device is what lies on its streams;
// TPUs have none, their operations are the work. The other lanes enclose it.
//
// Steps have the numbers that the lane "Steps" gives; work belongs to that in which it begins.
// Units: nanoseconds. Threads: the dialect's functions from any, the rest one at a time.
#pragma once

#include "base/status.h"
#include "importers/importer.h"
#include "importers/trace_events/dialect.h"
#include "importers/trace_events/stage.h"
#include "store/store.h"

namespace sonde::importers::chrome_trace {

// Of lists of trace events in general; lanes of XLA's devices become streams and ranges of devices.
class ChromeDialect : public trace_events::Dialect {
 public:
  trace_events::TrackLabel LabelTrack(const trace_events::ThreadFacts& facts,
                                      uint8_t lane) const override;
};

// Steps, tasks and collectives of XLA's devices; nothing where the file has none.
Status WriteXlaDevices(trace_events::EventStage& stage, store::Transaction& transaction,
                       ImportSummary& summary);

}  // namespace sonde::importers::chrome_trace
