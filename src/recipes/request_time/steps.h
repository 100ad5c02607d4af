// Engine steps as requests wait for them: how long a step with such a batch usually takes, and what
// a longer one spent the rest on.
//
// A step runs from its begin, or from the end of the step before where that is later (steps are
// prepared ahead), to its end. Its usual length comes from the steps of the session: by the tokens
// of its decodes, and on top by those of its prompts and how much of these was computed before.
// Units: nanoseconds. Pure, any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "recipes/intervals.h"
#include "recipes/request_time/parts.h"
#include "store/row_tables.h"
#include "store/rows.h"

namespace sonde::recipes {

// An engine step and when it had the engine for itself.
struct EngineStep {
  const store::EngineStepRow* row = nullptr;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;

  int64_t Length() const { return end_ns - begin_ns; }
};

// By engine and time; steps that had not ended are left out.
std::vector<EngineStep> RunningSteps(std::span<const store::EngineStepRow> rows);

std::string_view NameIn(const store::RowTables& tables, int32_t id);

struct StepTime {
  int64_t usual_ns = 0;    // with such a batch; the length itself where that is unknown or less
  int64_t decode_ns = 0;   // of it: what it would take without prompts
  PartTimes excess;        // what is beyond; 0 in steps that are not slow
  int32_t slow_rank = -1;  // where others waited for it
};

// Parallel to `steps`. Uses step, request_step, flow, communication_op, slice, track, process
// and the names.
std::vector<StepTime> TimesOfSteps(const store::RowTables& tables,
                                   const std::vector<EngineStep>& steps);

}  // namespace sonde::recipes
