// Settings with which a capture was recorded, from its metadata.
//
// The Python package writes "profiler_config" (the object "config" of profiler_info.json), "rank"
// and others as JSON; a C++ program writes none of them. Without a config everything found in the
// capture is delivered, at the level that "options" names, else at level 1. Values of the wrong
// type count as absent. Pure, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "recipes/trace/trace_data.h"

namespace sonde::recipes {

enum class ProfilerLevel { kNone, kLevel0, kLevel1, kLevel2 };

struct CaptureSettings {
  ProfilerLevel level = ProfilerLevel::kLevel1;
  bool cpu_activity = true;
  bool record_shapes = true;
  bool profile_memory = true;
  bool with_stack = true;
  bool with_modules = true;
  bool data_simplification = false;       // raw records may go once they are parsed
  std::vector<std::string> export_types;  // "text", "db"; empty: not set
  std::optional<int64_t> rank;
  int64_t world_size = -1;
  int64_t local_rank = -1;
  int64_t local_world_size = -1;
  // The rank came from the environment variable RANK; profiler_info.json then has it as text.
  bool rank_from_environment = false;
  bool is_worker = false;  // a helper process of a rank, such as a data loader's

  static CaptureSettings FromTrace(const TraceData& data);
};

}  // namespace sonde::recipes
