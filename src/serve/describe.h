// Description of a trace for the page before it draws: processes, tracks, lanes, extent.
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
// Data about slices comes from the index, without a pass over them.
Status DescribeTrace(const store::Queryable& store, const store::ZoomIndex& zoom,
                     const Marks& marks, TraceMessage& message);

}  // namespace sonde::serve
