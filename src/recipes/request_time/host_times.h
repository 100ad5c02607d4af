// When the hosts of a session did something else than their work: garbage collection, compilation.
// Units: nanoseconds. Pure, any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "recipes/host_activity/host_activity.h"
#include "recipes/intervals.h"
#include "store/row_tables.h"

namespace sonde::recipes {

// What the wait for one page (a major fault) takes at most: a disk's seek, and what is queued
// before it. The kernel counts these waits and does not time them.
inline constexpr int64_t kLongestFaultNs = 20'000'000;
// And the processor at most, of the thread that waits: to find the page and to read it.
inline constexpr int64_t kLongestFaultWorkNs = 100'000;

// Slices of all processes in which a host was at this. Uses slice and the names.
std::vector<Interval> HostTimes(const store::RowTables& tables, HostActivity activity);

// How much of a time lies in `times`, a merged list.
int64_t OverlapNs(const std::vector<Interval>& times, int64_t begin_ns, int64_t end_ns);

}  // namespace sonde::recipes
