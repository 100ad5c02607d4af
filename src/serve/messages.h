// The answers of the server, each declared once: member, type and meaning.
//
// From these lists come the structs, their JSON, and web/src/api/messages.ts (a test checks that it
// is current). Times are nanoseconds after SessionMessage::base, a round moment before all traces,
// so that they are exact in a double; durations are nanoseconds, -1 unfinished.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "serve/json_message.h"

// F(type, member, "meaning")
#define SONDE_FIELDS_PROCESS(F)                 \
  F(int32_t, id, "number within the trace")     \
  F(int64_t, pid, "of the operating system")    \
  F(std::string, name, "command line or label") \
  F(std::string, host, "host name")

#define SONDE_FIELDS_TRACK(F)                                                  \
  F(int32_t, id, "number within the trace")                                    \
  F(std::string, kind, "thread, stream, counter, ...: table track")            \
  F(std::string, name, "label")                                                \
  F(int32_t, process, "process id, -1 none")                                   \
  F(int32_t, thread, "thread id, -1 none")                                     \
  F(int32_t, device, "-1 none")                                                \
  F(int32_t, stream, "-1 none")                                                \
  F(int32_t, sort, "order within the process")                                 \
  F(int32_t, depths, "lanes: what is drawn is at depths 0 to this, exclusive") \
  F(int64_t, slices, "how many; 0 for a counter")                              \
  F(int64_t, marks, "moments that are no slices, on the last lane")

#define SONDE_FIELDS_TRACE(F)                                                                   \
  F(int32_t, id, "number within the session")                                                   \
  F(std::string, path, "what was opened")                                                       \
  F(std::string, name, "last part of the path")                                                 \
  F(std::string, format, "what it was read as")                                                 \
  F(int32_t, run, "traces of one launch have one, from 0 on")                                   \
  F(int32_t, rank, "global rank, -1 unknown")                                                   \
  F(std::string, host, "host name")                                                             \
  F(std::string, state, "waiting, reading, ready, recording or failed")                         \
  F(int32_t, version, "grows when its slices change: only a part was shown before")             \
  F(std::string, message, "why it failed")                                                      \
  F(int64_t, size_bytes, "of the file, 0 for a folder")                                         \
  F(int64_t, begin, "first begin of a slice")                                                   \
  F(int64_t, end, "last end of a slice")                                                        \
  F(int64_t, slices, "how many")                                                                \
  F(bool, empty, "it holds nothing that ran or was measured, or nothing is known yet")          \
  F(std::vector<std::string>, tables, "that such a trace alone has: of a comparison of values") \
  F(int32_t, issues, "rows of import_issue")                                                    \
  F(std::vector<ProcessMessage>, processes, "by id")                                            \
  F(std::vector<TrackMessage>, tracks, "by id")

#define SONDE_FIELDS_IGNORED(F)                             \
  F(std::string, path, "file or folder next to the traces") \
  F(std::string, reason, "why it was not read")

#define SONDE_FIELDS_PROGRESS(F) \
  F(int32_t, trace, "trace id")  \
  F(double, share, "of its import that is done, 0 to 1; 0 where that is unknown")

#define SONDE_FIELDS_ENTRY(F)           \
  F(std::string, name, "in its folder") \
  F(bool, folder, "holds others")       \
  F(std::string, format, "what it would be read as, empty: not as one trace")

#define SONDE_FIELDS_FOLDER(F)     \
  F(std::string, path, "absolute") \
  F(std::vector<EntryMessage>, entries, "folders first, by name")

#define SONDE_FIELDS_LIVE(F)                                \
  F(std::string, address, "where the program can be asked") \
  F(std::string, state, "idle, recording, or gone")         \
  F(std::string, message, "why it is gone")                 \
  F(int64_t, pid, "of the program")                         \
  F(int32_t, rank, "-1 unknown")                            \
  F(int64_t, records, "of the session that runs")           \
  F(int64_t, bytes, "of the session that runs")             \
  F(int64_t, dropped, "records that were lost")             \
  F(std::string, path, "folder of the session")

#define SONDE_FIELDS_RANK_MAP(F)                                                        \
  F(std::string, name, "of the run in the lake, or the database of the result")         \
  F(std::string, lake, "its folder, empty for a result: statements see it as trace -2") \
  F(int64_t, ranks, "whose traces can be opened, 0 none")

#define SONDE_FIELDS_RANK_TILE(F)                                                        \
  F(std::vector<std::string>, measures, "that are known: step, computing, exposed, ...") \
  F(int64_t, total_ranks, "of the map")                                                  \
  F(int64_t, total_steps, "of the map")                                                  \
  F(int64_t, row_size, "ranks in a row, but for the last")                               \
  F(int64_t, column_size, "steps in a column, but for the last")                         \
  F(std::vector<int64_t>, first_ranks, "by row: number of its first rank")               \
  F(std::vector<int64_t>, last_ranks, "by row: number of its last rank")                 \
  F(std::vector<int64_t>, first_steps, "by column; -1: of traces without steps")         \
  F(std::vector<int64_t>, last_steps, "by column")                                       \
  F(std::vector<double>, ns, "row by row: the largest value of the cell, null none")     \
  F(std::vector<int64_t>, ranks, "row by row: the rank that has it")                     \
  F(std::vector<int64_t>, steps, "row by row: the step that has it")                     \
  F(double, low, "end of the colours")                                                   \
  F(double, high, "the other end")

#define SONDE_FIELDS_OPENED_RANK(F) F(int32_t, trace, "trace id")

#define SONDE_FIELDS_SESSION(F)                                                                    \
  F(std::string, version, "of Sonde")                                                              \
  F(int64_t, revision, "grows with each change")                                                   \
  F(std::string, base, "moment 0 in nanoseconds of the Unix epoch, as text")                       \
  F(bool, loading, "traces are still being read")                                                  \
  F(bool, live, "programs can be asked to record: /api/live")                                      \
  F(std::vector<std::string>, roots, "folders inside of which more can be opened")                 \
  F(std::vector<std::string>, notes, "paths in which nothing was found")                           \
  F(std::vector<IgnoredMessage>, ignored, "the first files next to the traces that were not read") \
  F(std::vector<RankMapMessage>, maps, "of more ranks than are read: /api/rank_map")               \
  F(std::vector<TraceMessage>, traces, "by id")

#define SONDE_FIELDS_SLICE_REF(F)                                         \
  F(int32_t, trace, "trace id")                                           \
  F(int32_t, id, "slice id; of a mark that is no slice -2 - its mark id") \
  F(int32_t, track, "track id")                                           \
  F(std::string, name, "what ran")                                        \
  F(int64_t, ts, "begin")                                                 \
  F(int64_t, dur, "duration, -1 unfinished")                              \
  F(int32_t, depth, "lane within the track")

#define SONDE_FIELDS_FACT(F)                             \
  F(std::string, group, "argument, operator, task, ...") \
  F(std::string, key, "name of the fact")                \
  F(std::string, value, "its value")

#define SONDE_FIELDS_FLOW_END(F)                                        \
  F(std::string, kind, "of the flow")                                   \
  F(bool, out, "the flow goes from the slice to this")                  \
  F(SliceRefMessage, slice, "the other end")                            \
  F(int64_t, step, "number of the step that the other end is, -1 none") \
  F(int32_t, rank, "that it ran on, -1 none")

#define SONDE_FIELDS_SLICE(F)                                   \
  F(SliceRefMessage, slice, "itself")                           \
  F(std::string, category, "cpu_op, kernel, ...")               \
  F(int64_t, self, "duration without that of its children")     \
  F(int64_t, children, "slices directly below")                 \
  F(std::vector<FactMessage>, facts, "arguments, shapes, ...")  \
  F(std::vector<std::string>, stack, "frames, innermost first") \
  F(std::vector<SliceRefMessage>, ancestors, "outermost first") \
  F(std::vector<FlowEndMessage>, flows, "other ends of its flows")

#define SONDE_FIELDS_SLICE_LIST(F)        \
  F(int64_t, total, "how many there are") \
  F(std::vector<SliceRefMessage>, slices, "the first of them, by time")

#define SONDE_FIELDS_TOTAL(F)                   \
  F(std::string, name, "what ran")              \
  F(int64_t, count, "occurrences")              \
  F(int64_t, total, "sum of durations")         \
  F(int64_t, self, "the same without children") \
  F(int64_t, min, "shortest")                   \
  F(int64_t, max, "longest")

#define SONDE_FIELDS_AREA(F)        \
  F(int64_t, slices, "in the area") \
  F(std::vector<TotalMessage>, rows, "by name, largest total first")

#define SONDE_FIELDS_FLAME_NODE(F)                   \
  F(int32_t, parent, "index of the caller, -1 none") \
  F(std::string, name, "what ran")                   \
  F(int64_t, total, "time in it")                    \
  F(int64_t, self, "without its children")           \
  F(int64_t, count, "calls")

#define SONDE_FIELDS_FLAME(F)                                \
  F(bool, complete, "false: too many slices, some left out") \
  F(std::vector<FlameNodeMessage>, nodes, "callers first")

#define SONDE_FIELDS_COLUMN(F)     \
  F(std::string, name, "as asked") \
  F(std::string, type, "integer, real, text or boolean")

#define SONDE_FIELDS_TABLE(F)                                     \
  F(std::vector<ColumnMessage>, columns, "of the result")         \
  F(JsonCells, rows, "arrays of cells; large integers are texts") \
  F(bool, complete, "false: there are more rows")                 \
  F(int64_t, elapsed, "time of the statement in nanoseconds")

#define SONDE_FIELDS_RESULT_COLUMN(F)                                         \
  F(std::string, name, "with its unit at the end")                            \
  F(std::string, type, "integer, real or text")                               \
  F(std::string, unit, "ns, bytes, %, ... or empty")                          \
  F(std::string, role, "key, measure or label")                               \
  F(std::string, better, "of a measure: less, more or empty")                 \
  F(std::string, space, "of a key: keys of one space that are equal are one") \
  F(std::string, meaning, "in words")

#define SONDE_FIELDS_RESULT(F)                                         \
  F(std::string, name, "of the recipe and of its table in statements") \
  F(std::string, meaning, "what a row is")                             \
  F(std::vector<ResultColumnMessage>, columns, "as declared")          \
  F(JsonCells, rows, "arrays of cells; large integers are texts")      \
  F(bool, complete, "false: there are more rows than were asked for")  \
  F(int64_t, elapsed, "time of the analysis in nanoseconds, when it was made")

#define SONDE_FIELDS_FINDING(F)                                           \
  F(int32_t, trace, "trace id, -1: of several")                           \
  F(int32_t, rank, "that it is about, -1 none")                           \
  F(int64_t, step, "that it is about, -1 none")                           \
  F(std::string, rule, "slow_rank, coverage, import_issue, slow_request") \
  F(std::string, severity, "error, warning or info")                      \
  F(double, confidence, "0 to 1; 1: it was counted and not concluded")    \
  F(std::string, subject, "a code, a request, what is covered")           \
  F(double, value, "what was measured")                                   \
  F(std::string, unit, "of value and limit")                              \
  F(double, limit, "from which on the rule speaks")                       \
  F(std::string, text, "in the requested language")                       \
  F(std::string, evidence, "statement whose rows show it, may be empty")

#define SONDE_FIELDS_RESULT_PART(F)                          \
  F(int32_t, trace, "id")                                    \
  F(std::string, error, "why there are no rows, or empty")   \
  F(bool, complete, "false: it has more rows than are here") \
  F(JsonCells, rows, "arrays of cells; large integers are texts")

#define SONDE_FIELDS_RESULTS(F)                               \
  F(std::string, name, "of the recipe")                       \
  F(std::vector<ResultColumnMessage>, columns, "as declared") \
  F(std::vector<ResultPartMessage>, parts,                    \
    "by trace: those asked for, as many as an answer holds")  \
  F(std::vector<std::string>, notices, "a line each: clock differences removed from waits")

#define SONDE_FIELDS_ADVICE(F)                                 \
  F(std::string, advice, "as import_issue has it: in English") \
  F(std::string, text, "in the requested language")

#define SONDE_FIELDS_CLUSTER_RANK(F)                     \
  F(int32_t, rank, "number of the rank")                 \
  F(int32_t, trace, "trace id")                          \
  F(bool, empty, "it does not hold what the mode needs") \
  F(std::string, error, "why it failed, or empty")

#define SONDE_FIELDS_CLUSTER_TABLE(F)                             \
  F(std::string, name, "as in cluster_analysis.db")               \
  F(std::string, meaning, "what a row is")                        \
  F(std::vector<ResultColumnMessage>, columns, "as declared")     \
  F(JsonCells, rows, "arrays of cells; large integers are texts") \
  F(bool, complete, "false: there are more rows than were asked for")

#define SONDE_FIELDS_CLUSTER(F)                                               \
  F(std::string, mode, "name")                                                \
  F(std::string, missing, "why there is nothing, or empty")                   \
  F(std::vector<ClusterRankMessage>, ranks, "that were looked at, by number") \
  F(std::vector<ClusterTableMessage>, tables, "as the mode gives them")       \
  F(std::vector<FindingMessage>, findings, "in words")                        \
  F(std::vector<std::string>, notices, "a line each: what was left out")

#define SONDE_FIELDS_WORD(F)                \
  F(std::string, cell, "what stands there") \
  F(std::string, text, "in the requested language")

#define SONDE_FIELDS_COMPARISON(F)                                                     \
  F(int32_t, base, "trace id")                                                         \
  F(int32_t, comparison, "trace id")                                                   \
  F(std::string, missing, "why there is nothing, or empty")                            \
  F(std::string, verdict, "of a step: changed, unchanged, too noisy to decide, ...")   \
  F(std::vector<std::string>, sentences, "its conclusions, in the requested language") \
  F(std::vector<WordMessage>, words, "for cells of the tables")                        \
  F(std::vector<ClusterTableMessage>, tables,                                          \
    "compare_stage, compare_cause and the others of two traces")

#define SONDE_FIELDS_RULE_SHEET(F)                    \
  F(std::string, name, "in the requested language")   \
  F(std::vector<std::string>, columns, "their names") \
  F(int64_t, total, "rows that there are")            \
  F(JsonCells, rows, "the first of them")             \
  F(std::vector<int64_t>, slices, "in which one sees each row, -1 nowhere; empty: of none")

#define SONDE_FIELDS_RULE_ADVICE(F)                                                        \
  F(std::string, rule, "its name")                                                         \
  F(std::string, section, "where it stands in the report")                                 \
  F(int32_t, trace, "that it is about, -1 all")                                            \
  F(std::string, title, "in the requested language, as all texts")                         \
  F(std::string, description, "what was found")                                            \
  F(std::vector<std::string>, suggestions, "what to do")                                   \
  F(std::string, priority, "high, medium, low or empty")                                   \
  F(double, confidence, "1: counted and not concluded")                                    \
  F(std::string, evidence, "how often, how long, what it could gain and by which formula") \
  F(int64_t, place, "slice in which one sees it, -1 nowhere")                              \
  F(std::string, statement, "for the view of SQL; empty: it needs another trace, too")     \
  F(std::vector<RuleSheetMessage>, sheets, "rows that show it")

#define SONDE_FIELDS_RULE_SILENCE(F)                        \
  F(std::string, rule, "that was not asked, or failed")     \
  F(std::string, why, "what the trace lacks, or the error") \
  F(bool, failed, "an error")

#define SONDE_FIELDS_ADVISOR(F)                                           \
  F(std::string, missing, "why there is no advice, or empty")             \
  F(std::vector<RuleAdviceMessage>, advice, "in the order of the report") \
  F(std::vector<RuleSilenceMessage>, silences, "rules without a verdict") \
  F(std::vector<std::string>, notices, "a line each: what was left out")

#define SONDE_FIELDS_SCHEMA_TABLE(F)       \
  F(std::string, name, "of the table")     \
  F(std::string, meaning, "what a row is") \
  F(std::vector<ColumnMessage>, columns, "type: of SQL")

#define SONDE_FIELDS_ERROR(F) F(std::string, error, "what went wrong, one line")

// M(Struct, fields). What is used by another one comes first.
#define SONDE_MESSAGES(M)                            \
  M(ProcessMessage, SONDE_FIELDS_PROCESS)            \
  M(TrackMessage, SONDE_FIELDS_TRACK)                \
  M(TraceMessage, SONDE_FIELDS_TRACE)                \
  M(IgnoredMessage, SONDE_FIELDS_IGNORED)            \
  M(ProgressMessage, SONDE_FIELDS_PROGRESS)          \
  M(EntryMessage, SONDE_FIELDS_ENTRY)                \
  M(FolderMessage, SONDE_FIELDS_FOLDER)              \
  M(LiveMessage, SONDE_FIELDS_LIVE)                  \
  M(RankMapMessage, SONDE_FIELDS_RANK_MAP)           \
  M(RankTileMessage, SONDE_FIELDS_RANK_TILE)         \
  M(OpenedRankMessage, SONDE_FIELDS_OPENED_RANK)     \
  M(SessionMessage, SONDE_FIELDS_SESSION)            \
  M(SliceRefMessage, SONDE_FIELDS_SLICE_REF)         \
  M(FactMessage, SONDE_FIELDS_FACT)                  \
  M(FlowEndMessage, SONDE_FIELDS_FLOW_END)           \
  M(SliceMessage, SONDE_FIELDS_SLICE)                \
  M(SliceListMessage, SONDE_FIELDS_SLICE_LIST)       \
  M(TotalMessage, SONDE_FIELDS_TOTAL)                \
  M(AreaMessage, SONDE_FIELDS_AREA)                  \
  M(FlameNodeMessage, SONDE_FIELDS_FLAME_NODE)       \
  M(FlameMessage, SONDE_FIELDS_FLAME)                \
  M(ColumnMessage, SONDE_FIELDS_COLUMN)              \
  M(TableMessage, SONDE_FIELDS_TABLE)                \
  M(ResultColumnMessage, SONDE_FIELDS_RESULT_COLUMN) \
  M(ResultMessage, SONDE_FIELDS_RESULT)              \
  M(ResultPartMessage, SONDE_FIELDS_RESULT_PART)     \
  M(ResultsMessage, SONDE_FIELDS_RESULTS)            \
  M(FindingMessage, SONDE_FIELDS_FINDING)            \
  M(AdviceMessage, SONDE_FIELDS_ADVICE)              \
  M(ClusterRankMessage, SONDE_FIELDS_CLUSTER_RANK)   \
  M(ClusterTableMessage, SONDE_FIELDS_CLUSTER_TABLE) \
  M(ClusterMessage, SONDE_FIELDS_CLUSTER)            \
  M(WordMessage, SONDE_FIELDS_WORD)                  \
  M(ComparisonMessage, SONDE_FIELDS_COMPARISON)      \
  M(RuleSheetMessage, SONDE_FIELDS_RULE_SHEET)       \
  M(RuleAdviceMessage, SONDE_FIELDS_RULE_ADVICE)     \
  M(RuleSilenceMessage, SONDE_FIELDS_RULE_SILENCE)   \
  M(AdvisorMessage, SONDE_FIELDS_ADVISOR)            \
  M(SchemaTableMessage, SONDE_FIELDS_SCHEMA_TABLE)   \
  M(ErrorMessage, SONDE_FIELDS_ERROR)

namespace sonde::serve {

// NOLINTBEGIN(bugprone-macro-parentheses): types and names
#define SONDE_MEMBER(type, name, meaning) type name = {};
#define SONDE_MEMBER_JSON(type, name, meaning) \
  json.Key(#name);                             \
  WriteJson(json, message.name);
#define SONDE_STRUCT(Struct, FIELDS)                                     \
  struct Struct {                                                        \
    FIELDS(SONDE_MEMBER)                                                 \
  };                                                                     \
  inline void WriteJson(base::JsonWriter& json, const Struct& message) { \
    json.BeginObject();                                                  \
    FIELDS(SONDE_MEMBER_JSON)                                            \
    json.EndObject();                                                    \
  }
SONDE_MESSAGES(SONDE_STRUCT)
#undef SONDE_STRUCT
#undef SONDE_MEMBER_JSON
#undef SONDE_MEMBER
// NOLINTEND(bugprone-macro-parentheses)

// web/src/api/messages.ts.
std::string TypeScriptMessages();

}  // namespace sonde::serve
