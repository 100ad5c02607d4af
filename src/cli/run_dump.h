// What `sonde run` checks and sets for precision dumps: `--dump-config FILE` and `--provide NAME`.
//
// Errors: kInvalidArgument and kNotFound with one line for people, before anything is started. The
// start-up hook in the Python process checks the configuration's fields thoroughly.
#pragma once

#include <string>

#include "base/status.h"
#include "cli/environment.h"
#include "cli/layout.h"
#include "cli/run_options.h"

namespace sonde::cli {

// Whether this run dumps values and records no profile.
bool IsDump(const RunOptions& options);

// The configuration can be read, its task and level are known, its folder can be made.
Status CheckDump(const RunOptions& options);

// Variables and the folders that go first on PYTHONPATH.
void AddDumpVariables(const RunOptions& options, const Layout& layout, EnvironmentVariables& out,
                      std::string& python_folders);

}  // namespace sonde::cli
