// Import issues of raw records of Ascend's profilers: names and advice.
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
    "no file with the clock of the raw records was found (info.json, start_info, "
    "host_start.log of PROF_*, or profiler_info*.json): times and durations are as they were "
    "recorded"};
inline constexpr store::IssueKind kNoWallClock{
    "raw_no_wall_clock", store::Severity::kWarning,
    "no file with the time of day of the raw records' begin was found: times count from the start "
    "of the machine"};
inline constexpr store::IssueKind kQueueUnpaired{
    "raw_queue_unpaired", store::Severity::kInfo,
    "an entry of the framework's task queue has only one of its begin and end and was left out"};
inline constexpr store::IssueKind kReturnWithoutCall{
    "raw_return_without_call", store::Severity::kInfo,
    "a Python function returned whose call was made before recording began; it was left out"};
inline constexpr store::IssueKind kUnknownHash{
    "raw_unknown_hash", store::Severity::kWarning,
    "a record names a text that no dictionary holds; its number is shown instead"};
inline constexpr store::IssueKind kPartOfRecord{
    "raw_part_of_record", store::Severity::kWarning,
    "a stream of raw records begins or ends within a record, since its head was deleted or its "
    "writer was stopped; these bytes were left out"};
inline constexpr store::IssueKind kSliceMissing{
    "raw_slice_missing", store::Severity::kWarning,
    "files of a stream of raw records are missing before this one; their records are lost"};
inline constexpr store::IssueKind kNotClosed{"raw_not_closed", store::Severity::kInfo,
                                             "the writer of a file of raw records did not finish "
                                             "it (its .done is missing); its records were read"};
inline constexpr store::IssueKind kHashCollision{
    "raw_hash_collision", store::Severity::kWarning,
    "two texts of a dictionary have the same number; the later one was taken"};
inline constexpr store::IssueKind kNoInterface{
    "raw_no_interface", store::Severity::kInfo,
    "a record of the host belongs to no call of the vendor's library and was left out"};
inline constexpr store::IssueKind kEventUnpaired{
    "raw_event_unpaired", store::Severity::kInfo,
    "an event of the host has no end and was left out"};
inline constexpr store::IssueKind kTaskUnpaired{
    "raw_task_unpaired", store::Severity::kWarning,
    "a task of the device has only one of its begin and end and was left out"};
inline constexpr store::IssueKind kTaskAmbiguous{
    "raw_task_ambiguous", store::Severity::kWarning,
    "several tasks of host and device have the same number and cannot be distinguished; they have "
    "no description"};
inline constexpr store::IssueKind kNoDeviceClock{
    "raw_no_device_clock", store::Severity::kError,
    "the folder of a device lacks the files with its clock (info.json, host_start.log, "
    "dev_start.log, start_info); its records were left out"};
inline constexpr store::IssueKind kBeforeStart{
    "raw_before_start", store::Severity::kInfo,
    "tasks that ended before recording began were left out"};
inline constexpr store::IssueKind kNoMaster{
    "raw_no_master_task", store::Severity::kWarning,
    "a communication operation has no task with its begin and end and was left out"};
inline constexpr store::IssueKind kCounterWithoutTask{
    "raw_counter_without_task", store::Severity::kInfo,
    "hardware counters were recorded that belong to no task and were left out"};
inline constexpr store::IssueKind kBlockCounters{
    "raw_block_counters", store::Severity::kInfo,
    "counters of single blocks of a task are not read; those of the whole task are"};
inline constexpr store::IssueKind kOverflow{
    "raw_counter_overflow", store::Severity::kWarning,
    "hardware counters of a task ran over and were left out"};
inline constexpr store::IssueKind kSocRecord{
    "raw_soc_record", store::Severity::kInfo,
    "values of a chip's links, power and other units are not read and were left out"};
inline constexpr store::IssueKind kTrackRecord{
    "raw_track_record", store::Severity::kInfo,
    "records of the task scheduler's firmware other than flips, steps and marks (copies, types and "
    "blocks of tasks) are not read and were left out"};
inline constexpr store::IssueKind kAiCpuRecord{
    "raw_aicpu_record", store::Severity::kInfo,
    "records of the AI CPU of other kinds (the iterations of models) are not read and were left "
    "out"};
inline constexpr store::IssueKind kCacheEvents{
    "raw_cache_events", store::Severity::kWarning,
    "the counters of the cache or of the memory unit lack one that the rates need; no rates were "
    "computed"};
inline constexpr store::IssueKind kOldChip{
    "raw_old_chip", store::Severity::kError,
    "the records of the device's chip are not known; those of its host were read"};

}  // namespace sonde::importers::raw
