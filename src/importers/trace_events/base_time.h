// The moment from which the times of a trace count.
#pragma once

#include <cstdint>

#include "importers/trace_events/stage.h"

namespace sonde::importers::trace_events {

// "baseTimeNanoseconds" outside the events, as newer Kineto writes it; 0 where the file has none:
// its times are absolute. Counts an issue where it is no such number.
int64_t TakeBaseTime(EventStage& stage);

}  // namespace sonde::importers::trace_events
