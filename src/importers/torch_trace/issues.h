// Import issues of TORCH_TRACE logs: names and advice.
#pragma once

#include "store/import_issues.h"

namespace sonde::importers::torch_trace {

inline constexpr store::IssueKind kBadLine{
    "torch_trace_bad_line", store::Severity::kWarning,
    "a line of a TORCH_TRACE log is no record and belongs to none; it was left out"};
inline constexpr store::IssueKind kBadRecord{
    "torch_trace_bad_record", store::Severity::kWarning,
    "a record of a TORCH_TRACE log is damaged or lacks what it must have; it was left out"};
inline constexpr store::IssueKind kCutOff{
    "torch_trace_truncated", store::Severity::kWarning,
    "the log ends within a record; those before are imported"};
inline constexpr store::IssueKind kNoEnd{
    "torch_trace_no_end", store::Severity::kInfo,
    "phases of the compiler begin and do not end in the log; they reach to its last record"};
inline constexpr store::IssueKind kNoBegin{
    "torch_trace_no_begin", store::Severity::kInfo,
    "phases of the compiler end and do not begin in the log; they were left out"};

}  // namespace sonde::importers::torch_trace
