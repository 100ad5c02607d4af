// Commands whose work is done by a module of Sonde's Python package, in a Python that the user has.
//
// The module shares our terminal, its own lines go to standard error, and it lists its results in a
// JSON file that we name. Threads: as Supervise.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/host/json.h"
#include "base/status.h"
#include "cli/command.h"

namespace sonde::cli {

struct PythonTask {
  std::string python = "python3";
  std::string module;              // "sonde.torch.check"
  std::vector<std::string> words;  // behind it; "--report FILE" is added, unless
  bool has_report = true;
};

struct PythonResult {
  int exit_status = 0;                       // not 0: the module has reported why
  std::optional<base::JsonDocument> report;  // of exit status 0
};

Result<PythonResult> RunPythonTask(const Context& context, const PythonTask& task);

}  // namespace sonde::cli
