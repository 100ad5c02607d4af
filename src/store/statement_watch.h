// Ends a statement that takes more time or memory than it may. The database itself counts what its
// pages, sorts and joins hold, not the state of its aggregates (a median's numbers, lists): what
// the process holds since the statement began is looked at, too.
//
// Units: bytes, seconds. Threads: any; one thread more while a statement runs. Errors: kCancelled
// and kResourceExhausted say which limit it was and which option raises it.
#pragma once

#include <functional>

#include "store/user_statements.h"

namespace sonde::store::internal {

// Runs `statement` with `cancellation`, or with one of its own where that is null.
Status Watched(const StatementLimits& limits, Cancellation* cancellation,
               const std::function<Status(Cancellation*)>& statement);

// What statements may hold: what was asked for, or half of what this process may have.
int64_t MostMemory(int64_t wanted_bytes);

}  // namespace sonde::store::internal
