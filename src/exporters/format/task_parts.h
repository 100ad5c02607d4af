// Tasks of a device that ran in parts (FFTS+): where the parts are shown, the whole is not, as the
// device's own tool has it.
//
// Pure, any thread. Memory: two bits a task, where any ran in parts.
#pragma once

#include <vector>

#include "recipes/trace/trace_data.h"

namespace sonde::exporters {

// By index of data.tasks; both empty where no task ran in parts.
struct TaskParts {
  std::vector<bool> has_parts;  // and they lie in its time
  std::vector<bool> is_part;    // of a task around it

  explicit TaskParts(const recipes::TraceData& data);
  bool IsInParts(size_t task) const { return !has_parts.empty() && has_parts[task]; }
};

// All tasks by begin, each before its parts.
std::vector<size_t> WholeFirst(const recipes::TraceData& data);

}  // namespace sonde::exporters
