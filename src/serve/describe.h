// What the page needs to know of a trace before it draws: processes, tracks, lanes, extent.
//
// Pure reading of one store; any thread. Errors: those of the store.
#pragma once

#include "base/status.h"
#include "serve/messages.h"
#include "store/store.h"

namespace sonde::serve {

// Fills processes, tracks, slices, issues, and begin and end in nanoseconds of the epoch.
Status DescribeTrace(const store::Store& store, TraceMessage& message);

}  // namespace sonde::serve
