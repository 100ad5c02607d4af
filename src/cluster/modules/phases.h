// Steps of a server of language models by what they compute: prompts ("prefill"), further tokens
// ("decode") or both ("mixed").
//
//   of vLLM's own annotations   execute_context_<prompts>(<tokens>)_generation_<others>(<tokens>)
//   of Sonde's captures         the counters "prefill requests" and "decode requests" in a step
// A step of neither, as a warm-up is, has no name. Units: nanoseconds. Pure, any thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "cluster/modules/module_tree.h"

namespace sonde::cluster {

struct Phase {
  int64_t begin = 0;
  int64_t end = 0;
  std::string_view name;
};

// In the order of begin; empty where the trace is of no server.
std::vector<Phase> PhasesOf(const recipes::TraceData& data);

// Puts the phase in which each operator begins in front of the names of its parents.
void AssignPhases(const std::vector<Phase>& phases, const std::vector<LaunchingOp>& ops,
                  std::vector<PlacedOp>& placed);

}  // namespace sonde::cluster
