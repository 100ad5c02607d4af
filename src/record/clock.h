// The recorder's clock: the processor's counter where it runs at one rate on all cores and in all
// power states, else CLOCK_MONOTONIC_RAW. Samples tie ticks to wall-clock nanoseconds.
// Any thread; nothing here fails.
#ifndef SONDE_RECORD_CLOCK_H_
#define SONDE_RECORD_CLOCK_H_

#include "capture/format.h"

namespace sonde::record {

// Decided once per process. SONDE_CLOCK=raw in the environment asks for CLOCK_MONOTONIC_RAW.
capture::ClockKind RecorderClock();

// One tick reading between two readings of the system clocks; the narrowest of several tries.
capture::ClockSampleEntry TakeClockSample(capture::ClockKind kind);

int64_t MonotonicNs();  // CLOCK_MONOTONIC, for periods

}  // namespace sonde::record

#endif  // SONDE_RECORD_CLOCK_H_
