// Import issues of files of MindSpore's recorders: names and advice.
#pragma once

#include "store/import_issues.h"

namespace sonde::importers::mindspore {

inline constexpr store::IssueKind kBadLine{
    "mindspore_bad_line", store::Severity::kWarning,
    "a line of a text file of MindSpore's profilers cannot be understood and was left out"};
inline constexpr store::IssueKind kBadRecord{
    "mindspore_bad_record", store::Severity::kWarning,
    "a record of mindspore.op_range is too short or of an unknown kind and was left out"};
inline constexpr store::IssueKind kCutOff{
    "mindspore_truncated", store::Severity::kWarning,
    "the file ends within a record; those before are imported"};
inline constexpr store::IssueKind kNoClock{
    "mindspore_no_clock", store::Severity::kWarning,
    "mindspore.op_range counts ticks of the processor, and there is no PROF_*/host with their "
    "frequency: times and durations are ticks, not nanoseconds"};
inline constexpr store::IssueKind kShapesDiffer{
    "mindspore_shapes_differ", store::Severity::kInfo,
    "cpu_framework names other launches than cpu_op_execute_timestamp: shapes of operators are "
    "unknown"};
inline constexpr store::IssueKind kNoHandOver{
    "mindspore_hand_over_unpaired", store::Severity::kInfo,
    "a task that one thread passed to another was recorded on one side only"};
inline constexpr store::IssueKind kDoubleTimes{
    "mindspore_json_not_read", store::Severity::kInfo,
    "of RuntimeProfilerJson only the numbers that join threads are read: its times are rounded to "
    "quarters of a microsecond, those of RuntimeProfilerDetail are exact",
    /*is_choice=*/true};

}  // namespace sonde::importers::mindspore
