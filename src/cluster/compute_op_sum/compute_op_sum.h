// compute_op_sum: durations of kernels by type and core, over all ranks and by rank, and by name
// and shapes.
//
//   duration  end - start of a kernel that starts in the window; kernels that communicate do not
//             count
//   OpType    type of the operator; where a trace has none, the kernel's name
// Rows by falling sum. The reference's tables ComputeOpAllRankStats,
// ComputeOpPerRankStatsByOpType, ComputeOpPerRankStatsByOpName (left out by --exclude_op_name).
// Units: nanoseconds. Pure, any thread.
#pragma once

#include "cluster/frame/mode.h"
#include "cluster/frame/statistics.h"

namespace sonde::cluster {

#define SONDE_COLUMNS_COMPUTE_ALL(C)                                              \
  C(op_type, Text, "OpType", "", "", KeyOf("op_type"), "type of the operator")    \
  C(core, Text, "TaskType", "", "", KeyOf("core"), "kind of core that it ran on") \
  SONDE_STATISTICS(C)
SONDE_CLUSTER_TABLE(ComputeAllRow, kComputeAll, "compute_op_all_rank_stats",
                    "ComputeOpAllRankStats", "all_stats", SONDE_COLUMNS_COMPUTE_ALL,
                    "kernels by type over all ranks")

#define SONDE_COLUMNS_COMPUTE_TYPE(C) \
  SONDE_COLUMNS_COMPUTE_ALL(C)        \
  C(rank, Int, "Rank", "", "", KeyOf("rank"), "global rank")
SONDE_CLUSTER_TABLE(ComputeTypeRow, kComputeType, "compute_op_per_rank_stats_by_op_type",
                    "ComputeOpPerRankStatsByOpType", "rank_stats_by_optype",
                    SONDE_COLUMNS_COMPUTE_TYPE, "kernels by type and rank")

#define SONDE_COLUMNS_COMPUTE_NAME(C)                                             \
  C(op_name, Text, "OpName", "", "", KeyOf("op_name"), "name of the kernel")      \
  C(op_type, Text, "OpType", "", "", KeyOf("op_type"), "type of the operator")    \
  C(core, Text, "TaskType", "", "", KeyOf("core"), "kind of core that it ran on") \
  C(input_shapes, Text, "InputShapes", "", "", KeyOf("shapes"), "of the inputs")  \
  SONDE_STATISTICS(C)                                                             \
  C(rank, Int, "Rank", "", "", KeyOf("rank"), "global rank")
SONDE_CLUSTER_TABLE(ComputeNameRow, kComputeName, "compute_op_per_rank_stats_by_op_name",
                    "ComputeOpPerRankStatsByOpName", "rank_stats_by_opname",
                    SONDE_COLUMNS_COMPUTE_NAME, "kernels by name, shapes and rank")

}  // namespace sonde::cluster
