// From a path to a side: the one trace that lies there, of whichever profiler.
//
// Several calls may run at once. Errors: nothing is there, several traces are (they are named), the
// step is not in the trace, the trace cannot be read.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "compare/frame/side.h"
#include "job/open.h"
#include "recipes/trace/needs.h"

namespace sonde::compare {

// The source of a side.
recipes::Needs SideNeeds();
// The side of a trace in hand; `step_id`: kNone for all.
Result<Side> SideOf(const recipes::TraceData& data, const std::string& path, int64_t step_id);

// A foreign trace without a store is read from its files. One that is read twice, or is large, gets
// a store, as those of ours do.
enum class Reading : uint8_t { kOnce, kTwice };

// `step_id`: kNone for all.
Result<Side> LoadSide(const std::string& path, int64_t step_id, Reading reading, int threads,
                      const job::NoticeSink& notify);

}  // namespace sonde::compare
