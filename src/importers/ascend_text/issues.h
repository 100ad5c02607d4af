// Import issues of text deliverables: names and advice.
#pragma once

#include "store/import_issues.h"

namespace sonde::importers {

inline constexpr store::IssueKind kCsvCutOff{
    "csv_truncated", store::Severity::kWarning,
    "a CSV file ends inside a quoted cell; the rows before it were taken"};
inline constexpr store::IssueKind kCsvRagged{
    "csv_ragged_row", store::Severity::kWarning,
    "a row has more or fewer cells than the header; cells beyond it were left out"};
inline constexpr store::IssueKind kCsvForm{
    "csv_form", store::Severity::kInfo,
    "line ends or quotes of a CSV file are mixed; an export writes them by one rule"};
inline constexpr store::IssueKind kCsvEmptyLines{
    "csv_empty_line", store::Severity::kInfo,
    "empty lines of a CSV file hold no row; an export leaves them out"};
inline constexpr store::IssueKind kCsvNoLineEnd{
    "csv_no_line_end", store::Severity::kInfo,
    "the last line of a CSV file has no end: where its writer was stopped, its last cell may be "
    "cut off"};
inline constexpr store::IssueKind kCsvEmpty{"csv_empty", store::Severity::kWarning,
                                            "a CSV file has no header"};
inline constexpr store::IssueKind kCsvMissingColumn{
    "csv_missing_column", store::Severity::kWarning,
    "a CSV file lacks a column that is needed; its rows have no meaning in other tables"};
inline constexpr store::IssueKind kCsvLessColumns{
    "csv_less_columns", store::Severity::kWarning,
    "a CSV file lacks a column; its rows were taken, and its values are unknown"};
inline constexpr store::IssueKind kCsvRepeatedColumn{
    "csv_repeated_column", store::Severity::kWarning,
    "a name of a column occurs more than once in the header of a CSV file; the first was read, all "
    "were kept"};
inline constexpr store::IssueKind kCsvBadCell{
    "csv_bad_cell", store::Severity::kWarning,
    "a cell that must hold a number holds something else, or a size below zero; its row was left "
    "out"};
inline constexpr store::IssueKind kCsvBadValue{
    "csv_bad_value", store::Severity::kWarning,
    "a cell that may hold a number holds something else, one that does not fit, or a size below "
    "zero; it counts as unknown, its row was taken"};
inline constexpr store::IssueKind kTextGarbled{
    "text_garbled", store::Severity::kWarning,
    "a text is not valid UTF-8; its bad bytes were replaced"};
inline constexpr store::IssueKind kJsonGarbled{
    "json_garbled", store::Severity::kWarning,
    "a JSON deliverable cannot be understood and has no meaning in other tables"};
inline constexpr store::IssueKind kJsonShape{
    "json_other_shape", store::Severity::kWarning,
    "a part of communication.json or communication_matrix.json has another shape than Ascend's "
    "profilers give it and was left out"};
inline constexpr store::IssueKind kBadOperation{
    "communication_without_time", store::Severity::kWarning,
    "an operation of communication.json has no plausible start and was left out"};
inline constexpr store::IssueKind kNoSlice{
    "kernel_without_slice", store::Severity::kInfo,
    "rows of kernel_details have no event in the timeline (pruned at level 0, or cut off)"};
inline constexpr store::IssueKind kSumsAlone{"sums_without_rows", store::Severity::kWarning,
                                             "rows of a table are kept, but no analysis shows "
                                             "them: the single calls or tasks that they were "
                                             "made from are in no file; trace_view.json and "
                                             "kernel_details.csv of the same folder have them"};
inline constexpr store::IssueKind kLateTimes{
    "mindspore_times_late", store::Severity::kInfo,
    "MindSpore's trace_view.json of a CPU gives begins some 37 ns late, since it counts in "
    "doubles; "
    "FRAMEWORK/cpu_op_execute_timestamp_*.txt has the exact ones"};
}  // namespace sonde::importers
