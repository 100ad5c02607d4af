// Report of a crash of `sonde` itself: a line for people, and the call stack, as module and
// offset, for developers. The process then ends by the same signal.
//
// Not in builds with sanitizers, whose reports are more detailed.
#pragma once

namespace sonde::cli {

// For SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGABRT, on any thread. Once, first in main().
void ReportCrashes();

}  // namespace sonde::cli
