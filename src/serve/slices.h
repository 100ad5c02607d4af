// Reading slices of a trace for answers, and the parameters that name lanes and windows.
//
// Pure reading; any thread. Errors: kInvalidArgument for parameters, else those of the store.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "serve/http.h"
#include "serve/session.h"

namespace sonde::serve {

// "SELECT ... FROM slice_ <tail>" as references, `tail` with WHERE, ORDER BY and LIMIT.
Result<std::vector<SliceRefMessage>> ReadSlices(const Trace& trace, const std::string& tail);

// "SELECT ... FROM mark_ <tail>" likewise, of marks that are no slices (their ids: marks.h).
Result<std::vector<SliceRefMessage>> ReadMarks(const Trace& trace, const std::string& tail);

struct LaneKey {
  int32_t trace = 0;
  int32_t track = 0;
  int32_t depths = 0;  // 0: all
};

// The parameter `lanes`: "trace:track:depths,...", at most 4096.
Result<std::vector<LaneKey>> ParseLanes(const HttpRequest& request);

// A window in nanoseconds of the epoch of the given trace.
struct Window {
  int64_t begin = 0;  // after the base of the session
  int64_t end = 0;
};
Result<Window> ParseWindow(const HttpRequest& request);

// "track_id IN (...) AND ts < ... AND ..." for the lanes of one trace: what begins in the window,
// or reaches into it.
std::string AreaCondition(const Trace& trace, const std::vector<int32_t>& tracks,
                          const Window& window);

// The part of a slice in the window, nanoseconds: sums of a window count only that.
std::string ClippedDuration(const Trace& trace, const Window& window);

// The tracks of the lanes, by trace; kNotFound for a trace that is not ready.
struct TracksOfTrace {
  std::shared_ptr<const Trace> trace;
  std::vector<int32_t> tracks;
};
Result<std::vector<TracksOfTrace>> GroupLanes(const Session& session,
                                              const std::vector<LaneKey>& lanes);

// 'text' as a literal of SQL.
std::string SqlText(std::string_view text);

}  // namespace sonde::serve
