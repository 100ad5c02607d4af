// Running another program as if we were not there: it shares our terminal, files and process group,
// gets the signals that are sent to us, and its end becomes ours.
//
// Use in a process with one thread only, at most once at a time.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "cli/environment.h"

namespace sonde::cli {

// How a program ended: by an exit status, or by a signal.
struct ProgramEnd {
  int exit_status = 0;
  int signal = 0;  // 0: by exit status
};

inline constexpr int kExitNotExecutable = 126;
inline constexpr int kExitNotFound = 127;

// The file that the shell would run for `program`; kNotFound or kPermissionDenied with one clear
// line.
Result<std::string> FindProgram(const std::string& program);

struct ProgramStart {
  std::string path = {};                // of the file
  std::vector<std::string> words = {};  // the first is the program's name as it sees it
  EnvironmentVariables variables = {};  // added to the environment
  bool stdout_to_stderr = false;
  bool without_stdout = false;  // what it prints there goes nowhere
};

// Starts the program, waits for its end, and forwards SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1 and
// SIGUSR2 that other processes send to us; those of the terminal reach it anyway. The program is
// sent SIGTERM when we are killed.
Result<ProgramEnd> Supervise(const ProgramStart& start);

// Ends this process with the status or signal of `end`; a signal kills it without a core file.
[[noreturn]] void EndLike(const ProgramEnd& end);

}  // namespace sonde::cli
