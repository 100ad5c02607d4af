// Import issues of traces of events: names and advice.
#pragma once

#include "store/import_issues.h"

namespace sonde::importers::trace_events {

using store::IssueKind;
using store::Severity;

inline constexpr IssueKind kTruncated{
    "trace_truncated", Severity::kWarning,
    "the file ends before its list of events does; the part before is imported (usual where the "
    "writer was killed)"};
inline constexpr IssueKind kBadEvent{
    "trace_bad_event", Severity::kError,
    "text that is no event was left out; position is its begin in the unpacked file"};
inline constexpr IssueKind kNoPhase{
    "trace_event_without_phase", Severity::kWarning,
    "objects without the key \"ph\" have no meaning and were left out"};
inline constexpr IssueKind kBadTime{
    "trace_bad_time", Severity::kError,
    "an event whose time is missing, is no number or does not fit into 64 bits was left out"};
inline constexpr IssueKind kRepairedString{
    "trace_unescaped_quote", Severity::kInfo,
    "the file is not valid JSON: quotes inside texts are not escaped (older Kineto); they were "
    "taken as part of the text"};
inline constexpr IssueKind kTooDamaged{
    "trace_too_damaged", Severity::kError,
    "the file has so much invalid text that reading stopped at this position"};
inline constexpr IssueKind kPackedEnd{
    "gzip_damaged", Severity::kError,
    "the packed file is cut off or damaged; the part before is imported"};
inline constexpr IssueKind kPackedBomb{"gzip_expands_too_much", Severity::kError,
                                       "the packed file unpacks to more than 400 times its size, "
                                       "which no trace does; the rest was left "
                                       "out"};
inline constexpr IssueKind kHugeValue{
    "trace_huge_value", Severity::kError,
    "one value is larger than 256 MB and was left out with all that follows"};
inline constexpr IssueKind kOtherPhase{
    "trace_phase_not_imported", Severity::kInfo,
    "events of other kinds than slices, counters, flows, instants and names were left out"};
inline constexpr IssueKind kUnreadKeys{"trace_keys_not_imported", Severity::kInfo,
                                       "a thread clock (\"tts\") or stack frames (\"sf\", "
                                       "\"stack\") of an arrow or a counter were left "
                                       "out; those of slices and marks are arguments"};
inline constexpr IssueKind kNoDuration{
    "trace_without_duration", Severity::kWarning,
    "a complete event (\"X\") without a duration was taken as one of duration 0"};
inline constexpr IssueKind kNegativeDuration{"trace_negative_duration", Severity::kWarning,
                                             "a duration below zero was taken as zero"};
inline constexpr IssueKind kUnbalanced{
    "trace_unbalanced_range", Severity::kWarning,
    "an end of a range (\"E\", \"e\") has no begin and was left out, or ended ranges inside of it"};
inline constexpr IssueKind kUnfinished{
    "trace_unfinished_range", Severity::kInfo,
    "a range (\"B\", \"b\") has no end: it had not ended when recording ended"};
inline constexpr IssueKind kTimeApart{
    "trace_time_impossible", Severity::kWarning,
    "events whose times are more than a day from all others (zeros, say) were left out; the source "
    "names the first"};
inline constexpr IssueKind kEndless{"trace_duration_impossible", Severity::kWarning,
                                    "durations that end more than a day behind everything else "
                                    "were taken as zero; the source names "
                                    "the first"};
inline constexpr IssueKind kOverrun{
    "device_task_overrun", Severity::kWarning,
    "tasks that run over later ones of their stream, which does one at a time, have a wrong "
    "duration, which was taken as zero; the source names the first"};
inline constexpr IssueKind kUnpairedFlow{
    "trace_flow_unpaired", Severity::kInfo,
    "an end of a flow has no other end (Kineto writes many of these) and was left out"};
inline constexpr IssueKind kRepeatedFlow{
    "trace_flow_repeated", Severity::kWarning,
    "a flow begins under an id that has begun and not ended; its ends belong to the last begin "
    "before them, earlier ones were left out"};
inline constexpr IssueKind kUnboundFlow{
    "trace_flow_without_slice", Severity::kInfo,
    "a flow points to a moment in which its thread runs no slice (usual in Ascend's level 0); that "
    "end is unknown"};
inline constexpr IssueKind kBadCounter{"trace_bad_counter", Severity::kWarning,
                                       "a value of a counter that is no number was left out"};
inline constexpr IssueKind kRoundedCounter{
    "trace_counter_rounded", Severity::kWarning,
    "a value of a counter has more digits than a double holds (a whole number beyond 2^53) and was "
    "rounded; position is the begin of its event"};
inline constexpr IssueKind kBehindEnd{
    "trace_text_behind_end", Severity::kWarning,
    "text follows the end of the trace (a second list of events, say) and was left out; position "
    "is its begin in the unpacked file"};
inline constexpr IssueKind kBehindPacked{
    "gzip_text_behind_end", Severity::kWarning,
    "something that is not packed follows the packed file and was left out"};
inline constexpr IssueKind kBadArguments{
    "trace_bad_arguments", Severity::kWarning,
    "arguments of an event are no valid JSON; those before the fault are imported"};
inline constexpr IssueKind kBadMetadata{"trace_bad_metadata", Severity::kWarning,
                                        "an event that should name, label or order a process or "
                                        "thread lacks the value, and was left out"};
inline constexpr IssueKind kLongMetadata{
    "trace_metadata_too_long", Severity::kInfo,
    "a value outside the list of events is larger than 1 MB (a log of the kernel, samples) and was "
    "left out"};
inline constexpr IssueKind kBadBase{
    "trace_bad_base_time", Severity::kError,
    "baseTimeNanoseconds is no whole number of nanoseconds since 1970: times count from 0"};
inline constexpr IssueKind kNotATrace{"trace_without_events", Severity::kWarning,
                                      "the file holds no list of events"};

}  // namespace sonde::importers::trace_events
