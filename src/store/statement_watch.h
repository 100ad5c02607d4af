// Ends a statement that exceeds its limit of time or memory. The database itself counts its pages,
// sorts and joins, but not the state of its aggregates (a median's numbers, lists): so the growth
// of the process since the statement began is checked, too.
//
// Units: bytes, seconds. Threads: any; one thread more while a statement runs. Errors: kCancelled
// and kResourceExhausted name the limit and the option that raises it.
#pragma once

#include <functional>

#include "store/user_statements.h"

namespace sonde::store::internal {

// Runs `statement` with `cancellation`, or with one of its own where that is null.
Status Watched(const StatementLimits& limits, Cancellation* cancellation,
               const std::function<Status(Cancellation*)>& statement);

// Memory limit of statements: the given one, or half of the limit of this process.
int64_t MostMemory(int64_t wanted_bytes);

}  // namespace sonde::store::internal
