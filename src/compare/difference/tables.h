// The results of a comparison as tables: stages, causes, and the difference as a tree. Declared
// once; from there come the tables that statements name (`sonde query NEW --baseline OLD`), csv
// files, databases, JSON and the messages of the server.
//
// Units: milliseconds and calls a step, bytes. Pure, any thread.
#pragma once

#include <memory>
#include <span>

#include "compare/frame/sheet.h"
#include "compare/verdict/verdict.h"
#include "store/made_tables.h"
#include "store/result_info.h"

namespace sonde::compare {

#define SONDE_COLUMNS_COMPARE_STAGE(C)                                                          \
  C(stage, Text, "", KeyOf("stage"),                                                            \
    "step, computing, communication (that nothing hides), free; program: the step without the " \
    "time in which other programs had the processor")                                           \
  C(device, OptText, "", KeyOf("device"), "its number; NULL: the only one, or the whole step")  \
  C(base_mean_ms, Double, "ms", kLess, "mean over the samples of the base")                     \
  C(base_steps, Int, "", kNeither, "samples: runs where both sides have several, else steps")   \
  C(comparison_mean_ms, Double, "ms", kLess, "mean over the samples of the comparison")         \
  C(comparison_steps, Int, "", kNeither, "samples, as of the base")                             \
  C(diff_ms, Double, "ms", kLess, "comparison less base")                                       \
  C(low_ms, Double, "ms", kLess, "where the interval of the difference begins; NULL: one step") \
  C(high_ms, Double, "ms", kLess, "where it ends")                                              \
  C(rank_p, Double, "", kLess, "how likely ranks lie so far apart by chance; NULL: one step")   \
  C(verdict, Text, "", kLabel, "changed, unchanged, too noisy to decide, one step: no verdict")
SONDE_RESULT(CompareStageRow, kCompareStage, "compare_stage", SONDE_COLUMNS_COMPARE_STAGE,
             "a stage of a step of two traces, its mean over the steps")

#define SONDE_COLUMNS_COMPARE_CAUSE(C)                                                            \
  C(order_id, Int, "", kLabel, "from 1 on: what is beyond noise first, the largest first")        \
  C(cause, Text, "", KeyOf("cause"), "appeared, vanished, other kernels, other shapes, ...")      \
  C(subject, Text, "", KeyOf("op_type"), "operator, with its kernel where that is more specific") \
  C(base_step_ms, Double, "ms", kLess, "of a step of the base")                                   \
  C(comparison_step_ms, Double, "ms", kLess, "of a step of the comparison")                       \
  C(diff_ms, Double, "ms", kLess, "comparison less base")                                         \
  C(low_ms, Double, "ms", kLess, "where the interval of the difference begins; NULL: one step")   \
  C(high_ms, Double, "ms", kLess, "where it ends")                                                \
  C(kind, Text, "", kLabel, "work: something else is done; time: the same takes another time")    \
  C(module, OptText, "", kLabel, "module with the most of it, where it has half or more")         \
  C(verdict, Text, "", kLabel, "changed, too noisy to decide, one step: no verdict")              \
  C(evidence, Text, "", kLabel, "statement whose rows show it, with the same --baseline")
SONDE_RESULT(CompareCauseRow, kCompareCause, "compare_cause", SONDE_COLUMNS_COMPARE_CAUSE,
             "a part of the difference of a step of two traces")

#define SONDE_COLUMNS_COMPARE_TREE(C)                                                    \
  C(node_id, Int, "", KeyOf("compare_node"), "number of the node, from 0 on")            \
  C(parent_id, Opt, "", kLabel, "node above; NULL at the root")                          \
  C(depth, Int, "", kLabel, "0: the root")                                               \
  C(node, Text, "", kLabel, "step, module, operator, kernel, host, ...")                 \
  C(name, Text, "", kLabel, "of the module, operator or kernel")                         \
  C(path, Text, "", KeyOf("path"), "names from the root on")                             \
  C(base_ms, Double, "ms", kLess, "of a step of the base, with all below")               \
  C(comparison_ms, Double, "ms", kLess, "of a step of the comparison, with all below")   \
  C(diff_ms, Double, "ms", kLess, "comparison less base")                                \
  C(base_calls, Double, "", kNeither, "kernels of a step of the base, with all below")   \
  C(comparison_calls, Double, "", kNeither, "kernels of a step of the comparison")       \
  C(verdict, Text, "", kLabel,                                                           \
    "appeared, vanished, changed, unchanged, too noisy to decide, one step: no verdict") \
  C(subject, Text, "", KeyOf("op_type"), "of a kernel and of idle time: as compare_cause has it")
SONDE_RESULT(CompareTreeRow, kCompareTree, "compare_tree", SONDE_COLUMNS_COMPARE_TREE,
             "a node of the difference of a step: module, operator, kernel, idle time of the host")

#define SONDE_COLUMNS_COMPARE_REQUEST(C)                                                         \
  C(measure, Text, "", KeyOf("serving_name"), "TTFT, TPOT, ITL, E2E, queue, batch, engine step") \
  C(unit, Text, "", kLabel, "of the numbers: ms, requests")                                      \
  C(base_mean, Double, "", kLess, "mean of the base")                                            \
  C(base_count, Int, "", kNeither, "requests, pauses or engine steps of the base")               \
  C(comparison_mean, Double, "", kLess, "mean of the comparison")                                \
  C(comparison_count, Int, "", kNeither, "requests, pauses or engine steps of the comparison")   \
  C(diff, Double, "", kLess, "comparison less base")                                             \
  C(low, Double, "", kLess, "where the interval of the difference begins; NULL: one value")      \
  C(high, Double, "", kLess, "where it ends")                                                    \
  C(base_p50, Double, "", kLess, "median of the base")                                           \
  C(comparison_p50, Double, "", kLess, "median of the comparison")                               \
  C(base_p99, Double, "", kLess, "99th percentile of the base")                                  \
  C(comparison_p99, Double, "", kLess, "99th percentile of the comparison")                      \
  C(verdict, Text, "", kLabel, "changed, unchanged, too noisy to decide, one step: no verdict")
SONDE_RESULT(CompareRequestRow, kCompareRequest, "compare_request", SONDE_COLUMNS_COMPARE_REQUEST,
             "a time of the requests of two servers, or the size of their batches")

#define SONDE_COLUMNS_COMPARE_DISTRIBUTION(C)                                                    \
  C(measure, Text, "", KeyOf("serving_name"), "TTFT, TPOT, ITL, E2E, queue, batch, engine step") \
  C(unit, Text, "", kLabel, "of the values: ms, requests")                                       \
  C(share_percent, Int, "%", KeyOf("share"), "so many of them are at most as large")             \
  C(base_value, Double, "", kLess, "as the value of the base")                                   \
  C(comparison_value, Double, "", kLess, "as the value of the comparison")
SONDE_RESULT(CompareDistributionRow, kCompareDistribution, "compare_distribution",
             SONDE_COLUMNS_COMPARE_DISTRIBUTION,
             "percentiles of a time of the requests of two servers, or of their batches")

#define SONDE_COLUMNS_COMPARE_MEMORY(C)                                                     \
  C(owner, Text, "", KeyOf("op_type"), "operator that asked for it; 'all': the whole peak") \
  C(base_bytes, Int, "bytes", kLess, "alive when the base had the most in use")             \
  C(base_blocks, Int, "", kNeither, "how many")                                             \
  C(comparison_bytes, Int, "bytes", kLess, "alive when the comparison had the most in use") \
  C(comparison_blocks, Int, "", kNeither, "how many")                                       \
  C(diff_bytes, Int, "bytes", kLess, "comparison less base")
SONDE_RESULT(CompareMemoryRow, kCompareMemory, "compare_memory", SONDE_COLUMNS_COMPARE_MEMORY,
             "what was alive at the peak of memory of two traces, by who asked for it")

#define SONDE_COLUMNS_COMPARE_CALL(C)                                                           \
  C(name, Text, "", KeyOf("api"), "of the call: cudaLaunchKernel, aclrtSynchronizeStream")      \
  C(base_calls, Double, "", kNeither, "in a step of the base")                                  \
  C(base_ms, Double, "ms", kLess, "in a step of the base")                                      \
  C(comparison_calls, Double, "", kNeither, "in a step of the comparison")                      \
  C(comparison_ms, Double, "ms", kLess, "in a step of the comparison")                          \
  C(diff_ms, Double, "ms", kLess, "comparison less base")                                       \
  C(low_ms, Double, "ms", kLess, "where the interval of the difference begins; NULL: one step") \
  C(high_ms, Double, "ms", kLess, "where it ends")                                              \
  C(verdict, Text, "", kLabel, "changed, unchanged, too noisy to decide, one step: no verdict")
SONDE_RESULT(
    CompareCallRow, kCompareCall, "compare_call", SONDE_COLUMNS_COMPARE_CALL,
    "a call of the host that is no operator, of two traces: launches, copies, waits, garbage")

// All of them.
std::span<const store::ResultInfo* const> Results();

// In the order of Results().
std::vector<Sheet> ResultSheets(const Judgement& judgement);
const store::ResultInfo& ResultOf(const Sheet& sheet);
// Hands the rows of a sheet to a sink.
void WriteRows(const Sheet& sheet, store::RowSink& rows);

}  // namespace sonde::compare
