// Options of `sonde run`: their values, their checks, and the environment variables that carry them
// to the start-up hook in every Python process (docs/reference/environment.md).
//
// Steps count from 0; `step_end` is the first step not recorded, -1 is the end of the program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/environment.h"

namespace sonde::cli {

// Absent values leave the variable as it is in the environment, or unset.
struct RunOptions {
  std::optional<int64_t> step_start;
  std::optional<int64_t> step_end;
  std::optional<std::string> step_mark;
  std::vector<int64_t> ranks;  // empty: not given; {-1}: all
  std::optional<std::string> level;
  std::vector<std::string> export_types;
  std::optional<bool> data_simplification;
  std::optional<bool> with_cpu;
  std::optional<bool> with_stack;
  std::optional<bool> with_memory;
  std::optional<bool> record_shapes;
  std::optional<bool> with_modules;
  std::optional<bool> with_device;  // what an accelerator does, by its vendor's library
  std::optional<bool> mstx;
  std::optional<bool> request_text;
  std::optional<double> gc_threshold_ms;
  std::optional<int64_t> keep_last_s;  // of a recording; 0: all of it
  std::optional<std::string> save_path;
  std::optional<std::string> max_size;  // of each capture: "4G", "500M", bytes
  std::optional<int64_t> max_seconds;   // of each recording
  std::optional<bool> analyse;
  std::optional<bool> wait;    // a server's answer to a stop, for the files
  std::optional<bool> routes;  // of a server, opened where its user configured no profiler
  std::optional<std::string> control;
  bool view = false;                       // a page that starts and stops recording
  std::optional<std::string> dump_config;  // file of the precision probe
  std::vector<std::string> provide;        // packages of other tools that Sonde stands in for
  bool profile = true;                     // accepted and without effect
  std::optional<bool> quiet;
};

inline constexpr const char* kDefaultSavePath = "./profile";

// Fills the options that the command line left open from the variables that are set; a value that
// cannot be read is kInvalidArgument.
Status ReadVariables(const VariableGetter& get_variable, RunOptions& options);

// Ok, or what is impossible about the values; looks at no files.
Status CheckRunOptions(const RunOptions& options);

// "http://127.0.0.1:8000" and "unix:/run/a.sock" as they are, "/run/a.sock" with "unix:" before it;
// relative socket paths become absolute.
Result<std::string> NormalizeControl(const std::string& address);

// Variables for the options that are set; call CheckRunOptions() first. The save path becomes
// absolute, since the program may change its folder.
EnvironmentVariables ToEnvironment(const RunOptions& options);

}  // namespace sonde::cli
