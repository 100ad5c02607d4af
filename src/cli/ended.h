// A command that Ctrl+C or kill ends leaves no hidden, half-written files and no temporary folders.
//
// Nothing can be removed safely in a handler of a signal while other threads allocate and write. So
// the handler makes this process another program: itself, with kEndArgument, the signal and a file
// without a name that lists the folders in which the process made temporaries. That one removes
// those of its own number, and ends by the same signal. A command with an end of its own (run,
// view) sets handlers of its own.
#pragma once

namespace sonde::cli {

inline constexpr const char* kEndArgument = "--remove-temporaries";

// For SIGINT, SIGTERM and SIGHUP that are not ignored. Once, first in main().
void RemoveTemporariesAtSignals();

// What the process does after that, with the signal's number and the list's descriptor. Does not
// return where the signal ends it; else the exit status.
int RemoveTemporariesAndEnd(const char* signal_text, const char* list_text);

}  // namespace sonde::cli
