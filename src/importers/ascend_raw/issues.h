// What can be wrong with raw records of Ascend's profilers: names and advice of the import issues.
#pragma once

#include "store/import_issues.h"

namespace sonde::importers::raw {

inline constexpr store::IssueKind kCutOff{
    "raw_truncated", store::Severity::kWarning,
    "a file of raw records ends within a record; those before are imported"};
inline constexpr store::IssueKind kBadRecord{
    "raw_bad_record", store::Severity::kWarning,
    "a raw record is of an unknown kind, too short or garbled and was left out"};
inline constexpr store::IssueKind kNoClock{
    "raw_no_clock", store::Severity::kWarning,
    "nothing beside the raw records tells how their ticks become time (info.json, start_info, "
    "host_start.log of PROF_*, or profiler_info*.json): times and durations are as they were "
    "recorded"};
inline constexpr store::IssueKind kNoWallClock{"raw_no_wall_clock", store::Severity::kWarning,
                                               "nothing beside the raw records tells the time of "
                                               "day at which they began: times count from the "
                                               "start of the machine"};
inline constexpr store::IssueKind kQueueUnpaired{
    "raw_queue_unpaired", store::Severity::kInfo,
    "an entry of the framework's task queue has only one of its begin and end and was left out"};
inline constexpr store::IssueKind kReturnWithoutCall{
    "raw_return_without_call", store::Severity::kInfo,
    "a Python function returned whose call was made before recording began; it was left out"};
inline constexpr store::IssueKind kUnknownHash{
    "raw_unknown_hash", store::Severity::kWarning,
    "a record names a text that no dictionary holds; its number stands in its place"};

}  // namespace sonde::importers::raw
