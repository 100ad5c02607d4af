// Runs a helper program to its end and gives back what it printed.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/environment.h"

namespace sonde::cli {

struct ProgramOutput {
  int exit_status = 0;  // 128 + number for a signal
  std::string out;
  std::string err;
};

// Starts words[0] (searched on PATH) with /dev/null as its input. After `timeout_s` seconds it is
// killed together with its process group: kUnavailable. Beyond 16 MiB the output is cut.
Result<ProgramOutput> CaptureOutput(std::vector<std::string> words,
                                    const EnvironmentVariables& variables, int timeout_s);

}  // namespace sonde::cli
