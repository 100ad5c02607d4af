// Ends a statement that exceeds its limit of time or memory. The database itself counts its pages,
// sorts and joins, but not the state of its aggregates (a median's numbers, lists): so the growth
// of the process since the statement began is checked, too.
//
// Units: bytes, seconds. Threads: any; one thread more while a statement runs. Errors: kCancelled
// and kResourceExhausted name the limit and the option that raises it.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "store/user_statements.h"

namespace sonde::store::internal {

// Runs `statement` with `cancellation`, or with one of its own where that is null.
Status Watched(const StatementLimits& limits, Cancellation* cancellation,
               const std::function<Status(Cancellation*)>& statement);

// Memory limit of statements: the given one, or half of the limit of this process.
int64_t MostMemory(int64_t wanted_bytes);
// What of the limit the database may count: the rest is for its library, its threads and what it
// does not count.
int64_t DatabaseShare(int64_t limit_bytes);
// What a process that runs statements only may hold: a tenth more than the limit, and little more
// than `held_bytes`, which it holds before the statement, in any case.
int64_t MostHeld(const StatementLimits& limits, int64_t held_bytes);
// How much a process may grow during a statement: other threads allocate, too, and allocators keep
// freed memory, so a small excess is tolerated.
int64_t MemorySlack(const StatementLimits& limits);
// Memory of a process without mapped files; 0: this one.
int64_t HeldBytes(int pid);

// `detail`: the database's own words, or empty.
Status ExceedsMemory(std::string_view detail);
Status TookTooLong(const StatementLimits& limits);

}  // namespace sonde::store::internal
