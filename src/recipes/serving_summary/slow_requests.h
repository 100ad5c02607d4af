// Why requests took as long as they did: the parts of serving_summary.h, request by request.
//
// Units: nanoseconds. Pure, any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "recipes/serving_summary/serving_summary.h"

namespace sonde::recipes {

// An engine step and when it had the engine for itself.
struct EngineStep {
  const store::EngineStepRow* row = nullptr;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
};

// By engine and time; steps that had not ended are left out.
std::vector<EngineStep> RunningSteps(std::span<const store::EngineStepRow> rows);

// Whole requests in the order of arrival.
std::vector<SlowRequest> ExplainRequests(const store::RowTables& tables,
                                         const std::vector<EngineStep>& steps);

std::string_view NameIn(const store::RowTables& tables, int32_t id);

}  // namespace sonde::recipes
