// What `sonde` says when it is at fault itself: a line for people, and the call stack, as module
// and offset, for whoever mends it. The process then ends by the same signal.
//
// Not in builds with sanitizers, which say more.
#pragma once

namespace sonde::cli {

// For SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGABRT, on any thread. Once, first in main().
void ReportCrashes();

}  // namespace sonde::cli
