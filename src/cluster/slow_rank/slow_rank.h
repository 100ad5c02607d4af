// slow_rank: ranks that arrive last at collectives, so that the others wait for them.
//
// Ranks of one collective end together: the one that spent least time in it came last.
//   rows      operations but sends and receives, by group and name; groups in which names differ in
//             their number of rows are incomplete and left out
//   n <= 100  one-sided test of Dixon for a low outlier (99.5 %); none with less than three rows
//             or four different values
//   n > 100   below mean - 3 sigma (population); the least, too, where the greatest is above
//             mean + 3 sigma
// Tables SlowRank (votes) and SlowOpStats, whose ...Ns columns hold microseconds in the database
// and thousandths of them in text, as those of the reference do. Pure, any thread.
#pragma once

#include <vector>

#include "cluster/frame/mode.h"
#include "cluster/frame/statistics.h"

namespace sonde::cluster {

#define SONDE_COLUMNS_SLOW_RANK(C)                             \
  C(rank, Int, "rankId", "", "", KeyOf("rank"), "global rank") \
  C(votes, Int, "slowAffectCount", "", "", kLess, "operations in which it was last")
SONDE_CLUSTER_TABLE(SlowRankRow, kSlowRank, "slow_rank", "SlowRank", "rank_stats",
                    SONDE_COLUMNS_SLOW_RANK, "ranks that others waited for")

#define SONDE_COLUMNS_SLOW_OP(C)                                                      \
  C(ranks, Text, "SlowRank", "", "", kLabel, "ranks that were last, ',' between")     \
  C(op_name, Text, "OpName", "", "", KeyOf("communication"), "name of the operation") \
  C(group_name, Text, "GroupName", "", "", KeyOf("group"), "communicator")            \
  C(ts, Int, "Timestamp", "", "ns", kLabel, "earliest begin of the slow ranks")       \
  SONDE_STATISTICS(C)
SONDE_CLUSTER_TABLE(SlowOpRow, kSlowOp, "slow_op_stats", "SlowOpStats", "slow_op_stats",
                    SONDE_COLUMNS_SLOW_OP, "operations in which a rank was last, times in us")

// Places of the slow ones among durations of one operation.
std::vector<size_t> SlowPlaces(const std::vector<double>& durations);

}  // namespace sonde::cluster
