// Modules of the model by the time spent in them.
//
//   host total   sum of the durations of the module's calls
//   device self  device tasks of operators whose innermost open module is this one
//   device total the same plus those of the modules called inside, as far as they were called
//                there: a module that two others share counts for the one that called it
//   compiled     calls of which only the kernels are known, since the module runs in compiled code
//   fused        device tasks of other modules, in compiled code, that compute for this one, too
// A module is its path in the model ("layers.0.mlp"); by device total, then host total, descending.
// The time on the launching thread decides which module is open. Backward operators run outside the
// module calls and count for none; those of compiled code are modules of their own, "mlp
// (backward)".
// Units: nanoseconds. Pure, any thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "recipes/top_modules/module_calls.h"
#include "store/result_info.h"

namespace sonde::recipes {

#define SONDE_COLUMNS_TOP_MODULES(C)                                                       \
  C(path, Text, "", KeyOf("module"), "place in the model")                                 \
  C(module_class, Text, "", kLabel, "its class")                                           \
  C(calls, Int, "", kNeither, "how many")                                                  \
  C(host_total_ns, Int, "ns", kLess, "sum of their durations")                             \
  C(device_self_ns, Int, "ns", kLess,                                                      \
    "device tasks of operators called in it, in no module inside")                         \
  C(device_total_ns, Int, "ns", kLess, "the same with those of the modules called inside") \
  C(compiled_calls, Int, "", kNeither, "of the calls those in compiled code")              \
  C(fused_ns, Int, "ns", kNeither,                                                         \
    "device tasks of other modules that compute for it, too, in compiled code")
SONDE_RESULT(ModuleRow, kTopModules, "top_modules", SONDE_COLUMNS_TOP_MODULES,
             "a module of the model with the time spent in it")

// The texts live as long as the calls.
std::vector<ModuleRow> TopModules(const TraceData& data, const ModuleCalls& calls);

}  // namespace sonde::recipes
