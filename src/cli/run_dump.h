// Checks and settings of `sonde run` for precision dumps (`--dump-config FILE`) and for packages
// that Sonde stands in for (`--provide NAME`).
//
// Errors: kInvalidArgument and kNotFound with one line for people, before anything is started. The
// start-up hook in the Python process checks the configuration's fields thoroughly.
#pragma once

#include <string>

#include "base/status.h"
#include "cli/layout.h"
#include "cli/run_options.h"

namespace sonde::cli {

// Whether this run dumps values and records no profile.
bool IsDump(const RunOptions& options);

// The configuration can be read, its task and level are known, its folder can be made.
Status CheckDump(const RunOptions& options);

// Each package is one that Sonde stands in for.
Status CheckProvided(const RunOptions& options);

// The folders that hold them, each after a ':', to go on PYTHONPATH.
std::string ProvidedFolders(const RunOptions& options, const Layout& layout);

}  // namespace sonde::cli
