// Import issues of captures: names and advice.
#pragma once

#include "store/import_issues.h"

namespace sonde::importers::capture_import {

using store::IssueKind;
using store::Severity;

inline constexpr IssueKind kTruncatedFile{
    "capture_truncated", Severity::kWarning,
    "a file ends inside a piece; what was written before it is complete (usual after a crash)"};
inline constexpr IssueKind kGarbledHeader{
    "capture_garbled_file", Severity::kError,
    "a file of the capture does not begin with a valid header and was left out"};
inline constexpr IssueKind kGarbledChunk{
    "capture_garbled_chunk", Severity::kError,
    "a piece of records does not match its checksum and was left out; position is its begin"};
inline constexpr IssueKind kGarbledDictionary{"capture_garbled_dictionary", Severity::kError,
                                              "an entry of the dictionary does not match its "
                                              "checksum and was left out; names may be missing"};
inline constexpr IssueKind kForeignFile{
    "capture_foreign_file", Severity::kWarning,
    "a file belongs to another recording session and was left out"};
inline constexpr IssueKind kVersion{
    "capture_version", Severity::kError,
    "a file has a format version that this program does not know and was left out"};
inline constexpr IssueKind kGarbledRing{"capture_garbled_ring", Severity::kError,
                                        "a live ring buffer is inconsistent and was left out"};
inline constexpr IssueKind kRecoveredRing{
    "capture_not_closed", Severity::kInfo,
    "the capture is not closed: the process was killed, crashed or still records; its last records "
    "were read from ring buffers"};
inline constexpr IssueKind kNoSessionEnd{
    "capture_no_end", Severity::kInfo,
    "the recording was not ended by the program: it was killed, crashed or is still running"};
inline constexpr IssueKind kDetached{
    "capture_detached", Severity::kInfo,
    "the process that started this one ended, and this one went on recording (a daemon)"};
inline constexpr IssueKind kDropped{
    "records_dropped", Severity::kWarning,
    "a ring buffer was full and records were dropped; a larger ring or fewer switches help"};
inline constexpr IssueKind kMissing{
    "records_missing", Severity::kWarning,
    "positions of records are not continuous: pieces of the capture are lost"};
inline constexpr IssueKind kUnknownRecord{
    "record_unknown", Severity::kWarning,
    "records of a kind that this program does not know were left out"};
inline constexpr IssueKind kUnknownId{
    "record_unknown_id", Severity::kWarning,
    "records refer to texts or arguments that are not in the dictionary"};
inline constexpr IssueKind kUnpairedSpan{
    "span_unpaired", Severity::kInfo, "ends of spans whose begin was not recorded were left out"};
inline constexpr IssueKind kUnpairedFlow{"flow_unpaired", Severity::kInfo,
                                         "ends of flows without their other end were left out"};
inline constexpr IssueKind kUnpairedRelease{
    "memory_release_unpaired", Severity::kInfo,
    "memory was released that had been allocated before recording began"};
inline constexpr IssueKind kLostRelease{
    "memory_release_missing", Severity::kWarning,
    "an address was allocated again without a recorded release"};
inline constexpr IssueKind kBackwardUnpaired{
    "backward_unpaired", Severity::kInfo,
    "backward nodes whose forward op was not recorded have no flow"};
inline constexpr IssueKind kGuessedClock{
    "clock_rate_guessed", Severity::kWarning,
    "the capture holds one clock sample only; the rate of its counter was taken from this machine"};
inline constexpr IssueKind kNoClock{
    "clock_unknown", Severity::kError,
    "the capture holds no clock sample; times begin at the moment the file was made"};
inline constexpr IssueKind kBadArguments{
    "arguments_garbled", Severity::kWarning,
    "argument sets that do not keep to the format were left out"};
inline constexpr IssueKind kBadMetadata{"metadata_garbled", Severity::kWarning,
                                        "metadata that is not valid JSON was kept as text"};
inline constexpr IssueKind kDeviceTimes{"device_times_impossible", Severity::kWarning,
                                        "records of a device with impossible times were left out"};
inline constexpr IssueKind kDeviceUnjoined{
    "device_task_unjoined", Severity::kInfo,
    "the operator that launched these device tasks is not known: the launch was before recording "
    "began or on another thread; with TASK_QUEUE_ENABLE=0 an NPU's launches are on the operator's"};
inline constexpr IssueKind kDeviceCallCut{
    "device_call_cut", Severity::kInfo,
    "calls of the device's library end after the call around them; they end with it, as times of "
    "one thread nest"};
inline constexpr IssueKind kRecorder{"recorder", Severity::kWarning, ""};
inline constexpr IssueKind kEnded{"recording_ended", Severity::kWarning, ""};

}  // namespace sonde::importers::capture_import
