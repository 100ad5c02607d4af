// What the program runs in a process for statements (statement_process.h).
#pragma once

namespace sonde::store {

// The first argument of such a process; its sockets are the descriptors 3 and 4.
inline constexpr const char* kStatementsArgument = "--statements";

// Runs statements until the program that started this process closes its socket; the exit status.
// Call it before anything else, with one thread.
int ServeStatements();

}  // namespace sonde::store
