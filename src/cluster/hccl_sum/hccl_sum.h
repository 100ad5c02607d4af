// hccl_sum: communication operations by type, by type and rank, and the longest by name; which
// ranks each group has.
//
//   duration  end - start of an operation that starts in the window, with its waiting
//   top       the --top_num (15) names with the greatest mean duration over all ranks
//   GroupId   last three digits of the group's hash, as in the names of operations
// The reference's tables HcclAllRankStats, HcclPerRankStats, HcclTopOpStats, HcclGroupNameMap.
// Where several ranks have the least or greatest duration, the one of the smallest number is named.
// Units: nanoseconds. Pure, any thread.
#pragma once

#include "cluster/frame/mode.h"
#include "cluster/frame/statistics.h"

namespace sonde::cluster {

#define SONDE_COLUMNS_HCCL_ALL(C)                                             \
  C(op_type, Text, "OpType", "", "", KeyOf("communication_type"), "its kind") \
  SONDE_STATISTICS(C)
SONDE_CLUSTER_TABLE(HcclAllRow, kHcclAll, "hccl_all_rank_stats", "HcclAllRankStats", "all_stats",
                    SONDE_COLUMNS_HCCL_ALL, "communication by kind over all ranks")

#define SONDE_COLUMNS_HCCL_RANK(C) \
  SONDE_COLUMNS_HCCL_ALL(C)        \
  C(rank, Int, "Rank", "", "", KeyOf("rank"), "global rank")
SONDE_CLUSTER_TABLE(HcclRankRow, kHcclRank, "hccl_per_rank_stats", "HcclPerRankStats", "rank_stats",
                    SONDE_COLUMNS_HCCL_RANK, "communication by kind and rank")

#define SONDE_COLUMNS_HCCL_TOP(C)                                                     \
  C(op_name, Text, "OpName", "", "", KeyOf("communication"), "name of the operation") \
  SONDE_STATISTICS(C)                                                                 \
  C(min_rank, Int, "MinRank", "", "", kLabel, "rank of the shortest")                 \
  C(max_rank, Int, "MaxRank", "", "", kLabel, "rank of the longest")
SONDE_CLUSTER_TABLE(HcclTopRow, kHcclTop, "hccl_top_op_stats", "HcclTopOpStats", "top_op_stats",
                    SONDE_COLUMNS_HCCL_TOP, "the longest communication operations")

#define SONDE_COLUMNS_HCCL_GROUP(C)                                                     \
  C(group_name, Text, "GroupName", "", "", KeyOf("group"), "communicator")              \
  C(group_id, Text, "GroupId", "", "", kLabel, "last three digits of the group's hash") \
  C(ranks, Text, "Ranks", "", "", kLabel, "ranks that are there, ';' between")
SONDE_CLUSTER_TABLE(HcclGroupRow, kHcclGroup, "hccl_group_name_map", "HcclGroupNameMap",
                    "group_name_map", SONDE_COLUMNS_HCCL_GROUP, "groups and their ranks")

}  // namespace sonde::cluster
