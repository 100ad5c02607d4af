// The path of a request through the server: what its client waited for at each moment.
//
// While a piece of its output is on its way to the client, the client waits for that, whatever the
// engine does meanwhile; else for the engine. So prefill and decode end where the engine ended
// them. Units: nanoseconds. Pure, any thread.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "recipes/request_time/parts.h"
#include "recipes/request_time/pauses.h"
#include "recipes/request_time/steps.h"

namespace sonde::recipes {

// Pieces of a path follow one another without a gap.
struct PathPiece {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  RequestPart part = RequestPart::kUnexplained;
};

// What was recorded of the session, for the paths of its requests.
struct ServedSession {
  const store::RowTables* tables = nullptr;
  std::vector<EngineStep> steps;
  std::vector<StepTime> times;              // parallel to steps
  std::vector<LoopPause> pauses;            // of the front-end's event loop
  int64_t hand_over_ns = 0;                 // from front-end to engine, usually
  std::map<int32_t, int32_t> most_running;  // requests at once in a step, by engine

  static ServedSession Of(const store::RowTables& tables);
  // Of request_step, by request.
  std::vector<std::vector<const store::RequestStepRow*>> parts_of_requests;
};

// How long the client of a request waited at most before the application saw it.
int64_t WaitBeforeArrival(const store::RequestRow& row, const std::vector<LoopPause>& pauses);

// When nothing of its answer waited in the server any more: its end, or later.
int64_t DeliveredNs(const store::RequestRow& row);

// Of a whole request: from its arrival, less the wait before that, to its delivery.
std::vector<PathPiece> PathOf(const ServedSession& session, const store::RequestRow& row);

PartTimes SumOf(const std::vector<PathPiece>& path);
// Of what lies in a time.
PartTimes SumWithin(const std::vector<PathPiece>& path, const Interval& time);

}  // namespace sonde::recipes
