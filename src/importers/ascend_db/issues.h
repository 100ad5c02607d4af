// Import issues of databases: names and advice.
#pragma once

#include "store/import_issues.h"

namespace sonde::importers {

inline constexpr store::IssueKind kDbDamaged{
    "db_damaged", store::Severity::kError,
    "a table of the database cannot be read to its end; the rows before the damage were taken"};
inline constexpr store::IssueKind kDbMissingTable{
    "db_missing_table", store::Severity::kInfo,
    "the database has no table of this name; its data is missing"};
inline constexpr store::IssueKind kDbMissingColumn{
    "db_missing_column", store::Severity::kWarning,
    "a table of the database lacks a column that is needed; its rows were left out"};
inline constexpr store::IssueKind kDbLessColumns{
    "db_less_columns", store::Severity::kInfo,
    "a table of the database lacks a column; its rows were taken, and its values are unknown"};
inline constexpr store::IssueKind kDbWrongType{
    "db_wrong_type", store::Severity::kWarning,
    "a cell that must hold a number holds something else; its row was left out"};
inline constexpr store::IssueKind kDbBadValue{
    "db_bad_value", store::Severity::kWarning,
    "a cell that may hold a number holds something else, or a size below zero; it counts as "
    "unknown, its row was taken"};
inline constexpr store::IssueKind kDbRoundedCounter{
    "db_counter_rounded", store::Severity::kWarning,
    "a value of a counter has more digits than a double holds (a whole number beyond 2^53) and was "
    "rounded"};
inline constexpr store::IssueKind kDbUnknownId{
    "db_unknown_id", store::Severity::kWarning,
    "a cell refers to a row or text that the database does not hold"};
inline constexpr store::IssueKind kDbText{
    "db_garbled_text", store::Severity::kWarning,
    "a text of the database is not valid UTF-8; its bad bytes were replaced"};
inline constexpr store::IssueKind kDbView{
    "db_view", store::Severity::kInfo,
    "a view of the database is not written again when the database is exported"};
inline constexpr store::IssueKind kDbLog{
    "db_write_ahead_log", store::Severity::kInfo,
    "the database has a write-ahead log; both were copied and the copy was read",
    /*is_choice=*/true};
inline constexpr store::IssueKind kDbSwapped{
    "db_columns_swapped", store::Severity::kInfo,
    "shapes and types of operator inputs are in each other's column, as older profilers wrote "
    "them; they were swapped back"};
inline constexpr store::IssueKind kDbOrphan{
    "db_orphan", store::Severity::kInfo,
    "rows that describe a task have no task of that number and were left out"};
inline constexpr store::IssueKind kTextWithDb{
    "text_beside_db", store::Severity::kInfo,
    "the folder has text deliverables, too; the database was taken, since its times are "
    "integers of nanoseconds and its rows are joined by number",
    /*is_choice=*/true};

}  // namespace sonde::importers
