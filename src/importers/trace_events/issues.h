// What can be wrong with a trace of events: names and advice of the import issues.
#pragma once

#include "store/import_issues.h"

namespace sonde::importers::trace_events {

using store::IssueKind;
using store::Severity;

inline constexpr IssueKind kTruncated{
    "trace_truncated", Severity::kWarning,
    "the file ends before its list of events does; what stands before is imported (usual where the "
    "writer was killed)"};
inline constexpr IssueKind kBadEvent{
    "trace_bad_event", Severity::kError,
    "text that is no event was left out; position is where it begins in the unpacked file"};
inline constexpr IssueKind kNoPhase{"trace_event_without_phase", Severity::kWarning,
                                    "objects without the key \"ph\" say nothing and were left out"};
inline constexpr IssueKind kBadTime{
    "trace_bad_time", Severity::kError,
    "an event whose time is missing, is no number or does not fit into 64 bits was left out"};
inline constexpr IssueKind kMendedString{
    "trace_unescaped_quote", Severity::kInfo,
    "the file is not valid JSON: quotes inside texts are not escaped (older Kineto); they were "
    "taken as part of the text"};
inline constexpr IssueKind kTooDamaged{
    "trace_too_damaged", Severity::kError,
    "so much of the file makes no sense that reading was given up at this position"};
inline constexpr IssueKind kPackedEnd{
    "gzip_damaged", Severity::kError,
    "the packed file is cut off or damaged; what could be unpacked before is imported"};
inline constexpr IssueKind kPackedBomb{
    "gzip_expands_too_much", Severity::kError,
    "the packed file unpacks to more than a thousandfold of what traces reach; the rest was left "
    "out"};
inline constexpr IssueKind kHugeValue{
    "trace_huge_value", Severity::kError,
    "one value is larger than 256 MB and was left out with all that follows"};
inline constexpr IssueKind kNotATrace{"trace_without_events", Severity::kWarning,
                                      "the file holds no list of events"};

}  // namespace sonde::importers::trace_events
