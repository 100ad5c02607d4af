// What the page needs to know of a trace before it draws: processes, tracks, lanes, extent.
//
// Pure reading of one store; any thread. Errors: those of the store.
#pragma once

#include "base/status.h"
#include "serve/marks.h"
#include "serve/messages.h"
#include "store/queryable.h"
#include "store/zoom_index.h"

namespace sonde::serve {

// Fills processes, tracks, slices, issues, and begin and end in nanoseconds of the epoch.
// What concerns slices comes from the index: it takes no look at each of them.
Status DescribeTrace(const store::Queryable& store, const store::ZoomIndex& zoom,
                     const Marks& marks, TraceMessage& message);

}  // namespace sonde::serve
