// A command that Ctrl+C or kill ends leaves no hidden, half-written files and no temporary folders.
//
// Nothing can be removed safely in a handler of a signal while other threads allocate and write. So
// the handler makes this process another program: itself, with kEndArgument, the signal and the
// folders in which the process made temporaries. That one removes those of its own number, and ends
// by the same signal. A command with an end of its own (run, view) sets handlers of its own.
#pragma once

namespace sonde::cli {

inline constexpr const char* kEndArgument = "--remove-temporaries";

// For SIGINT, SIGTERM and SIGHUP that are not ignored. Once, first in main().
void RemoveTemporariesAtSignals();

// What the process does after that: `arguments` are the signal's number and folders, null behind
// the last. Does not return where the signal ends it; else the exit status.
int RemoveTemporariesAndEnd(char** arguments);

}  // namespace sonde::cli
