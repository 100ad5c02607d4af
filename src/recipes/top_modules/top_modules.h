// Modules of the model by the time spent in them.
//
//   host total   sum of the durations of the module's calls
//   device self  device tasks of operators whose innermost open module is this one
//   device total the same plus those of the modules called inside
// A module is its path in the model ("layers.0.mlp"); by device total, then host total, descending.
// Backward operators run outside the module calls and count for none.
// Units: nanoseconds. Pure, any thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "recipes/trace/device_view.h"

namespace sonde::recipes {

struct ModuleRow {
  std::string_view path;
  std::string_view module_class;
  int64_t calls = 0;
  int64_t host_total_ns = 0;
  int64_t device_self_ns = 0;
  int64_t device_total_ns = 0;
};

std::vector<ModuleRow> TopModules(const DeviceView& view);

}  // namespace sonde::recipes
