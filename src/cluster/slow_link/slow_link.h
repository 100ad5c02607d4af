// slow_link: operations of one kind, size and number of ranks whose transmission differs.
//
//   transmitTime  of an operation: its least duration over the ranks of its group
//   relatedRanks  ranks that have it
//   abnormal      a kind, size and number of ranks in which one transmission differs from the mean
//                 by more than 3 sigma (population); all of it is shown
//   offsetRatio   max(|max - mean|, |min - mean|) / deviation of the sample
// Sends and receives do not count. Tables SlowLinkSum (the --top_num (15) greatest ratios) and
// SlowLinkOps. Units: nanoseconds, bytes. Pure, any thread.
#pragma once

#include "cluster/frame/mode.h"
#include "cluster/frame/statistics.h"

namespace sonde::cluster {

#define SONDE_COLUMNS_SLOW_LINK(C)                                                         \
  C(kind, Text, "opTypeRelatedRanksDataSize", "", "", KeyOf("link_kind"), "what is alike") \
  SONDE_STATISTICS(C)                                                                      \
  C(offset_ratio, Double, "offsetRatio", "", "", kLess, "distance in deviations")          \
  C(max_rank, Int, "maxRank", "", "", kLabel, "rank of the longest")                       \
  C(min_rank, Int, "minRank", "", "", kLabel, "rank of the shortest")
SONDE_CLUSTER_TABLE(SlowLinkRow, kSlowLink, "slow_link_sum", "SlowLinkSum", "slow_link_sum",
                    SONDE_COLUMNS_SLOW_LINK, "transmissions of which one differs")

#define SONDE_COLUMNS_SLOW_LINK_OP(C)                                                   \
  C(rank, Int, "rankId", "", "", KeyOf("rank"), "global rank")                          \
  C(group_name, Text, "groupName", "", "", KeyOf("group"), "communicator")              \
  C(dur_ns, Int, "communicationTime", "", "ns", kLess, "duration of the operation")     \
  C(op_name, Text, "opName", "", "", KeyOf("communication"), "name of the operation")   \
  C(op_type, Text, "opType", "", "", kLabel, "its kind")                                \
  C(data_type, OptText, "dataType", "", "", kLabel, "type of its elements")             \
  C(size_bytes, Int, "dataSize", "", "bytes", kNeither, "payload of the rank")          \
  C(transmit_ns, Int, "transmitTime", "", "ns", kLess, "least duration over the ranks") \
  C(ranks, Int, "relatedRanks", "", "", kLabel, "ranks that have it")
SONDE_CLUSTER_TABLE(SlowLinkOpRow, kSlowLinkOp, "slow_link_ops", "SlowLinkOps", "slow_link_ops",
                    SONDE_COLUMNS_SLOW_LINK_OP, "operations of abnormal kinds")

}  // namespace sonde::cluster
