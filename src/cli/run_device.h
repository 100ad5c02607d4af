// The vendor's library that records the accelerator for `sonde run`, and how a program gets it.
//
// Looks at files, changes nothing. Any thread.
#pragma once

#include <optional>
#include <string>

#include "cli/environment.h"

namespace sonde::cli {

// CANN's libmspti.so, from the environment of CANN (set_env.sh): $ASCEND_HOME_PATH,
// $ASCEND_TOOLKIT_HOME, LD_LIBRARY_PATH. None without, and where the file is not there.
std::optional<std::string> FindMspti(const VariableGetter& get_variable);

// Has a program load it before all others, in front of the user's own, and Sonde use it: instead of
// torch_npu's own profiler where the user asked for the device (`out` says so), else until that
// begins.
void AddDeviceVariables(const std::string& library, const VariableGetter& get_variable,
                        EnvironmentVariables& out);

}  // namespace sonde::cli
