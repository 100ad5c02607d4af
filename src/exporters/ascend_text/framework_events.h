// All events of the framework's layer in the order in which they are written: row by row, by start,
// parents before children, with durations that keep their nesting in viewers (viewer_times.h).
//
// Pure; the vectors refer to nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "exporters/format/framework_rows.h"
#include "exporters/format/module_events.h"
#include "recipes/trace/trace_data.h"

namespace sonde::exporters {

struct FrameworkEvent {
  int32_t slice_id = store::kNone;
  // Index into `python.events` below; -1 for operators and works of collectives.
  int32_t python = -1;
  int64_t dur_ns = 0;
};

struct FrameworkEvents {
  PythonEventList python;
  std::vector<FrameworkEvent> events;

  static FrameworkEvents Make(const recipes::TraceData& data, const FrameworkRows& rows);
};

}  // namespace sonde::exporters
