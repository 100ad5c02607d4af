// cann_api_sum: calls of the device's host interface by name, over all ranks and by rank.
//
//   durationRatio  share of a rank's calls in percent, 2 decimals
//   over all ranks Q1 is the least, the median the median, Q3 the greatest of those of the ranks
//   stdev          of the population; over ranks pooled: sqrt((sum (n - 1) s^2 + sum n (mean -
//                  MEAN)^2) / (N - 1)); nanoseconds in every form, as the reference has it
// All but durationRatio have 1 decimal. The reference's tables CannApiSum and CannApiSumRank.
// Units: nanoseconds. Pure, any thread.
#pragma once

#include "cluster/frame/mode.h"
#include "cluster/frame/statistics.h"

namespace sonde::cluster {

#define SONDE_COLUMNS_CANN_API_ALL(C)                                                     \
  C(name, Text, "name", "", "", KeyOf("api"), "of the call")                              \
  C(ratio_percent, Double, "timeRatio", "", "%", kLess, "share of all calls")             \
  C(total_ns, Int, "totalTimeNs", "", "ns", kLess, "sum of the durations")                \
  C(count, Int, "totalCount", "", "", kNeither, "calls")                                  \
  C(average_ns, Double, "averageNs", "", "ns", kLess, "mean")                             \
  C(q1_ns, Double, "Q1Ns", "", "ns", kLess, "least first quartile of a rank")             \
  C(median_ns, Double, "medNs", "", "ns", kLess, "median of the ranks' medians")          \
  C(q3_ns, Double, "Q3Ns", "", "ns", kLess, "greatest third quartile of a rank")          \
  C(min_ns, Double, "minNs", "", "ns", kLess, "shortest")                                 \
  C(max_ns, Double, "maxNs", "", "ns", kLess, "longest")                                  \
  C(deviation_ns, Double, "stdev", "", "ns", kLess, "pooled deviation, ns in every form") \
  C(min_ranks, Text, "minRank", "", "", kLabel, "ranks with the shortest, ', ' between")  \
  C(max_ranks, Text, "maxRank", "", "", kLabel, "ranks with the longest, ', ' between")
SONDE_CLUSTER_TABLE(CannApiAllRow, kCannApiAll, "cann_api_sum", "CannApiSum", "all_stats",
                    SONDE_COLUMNS_CANN_API_ALL, "calls of the host interface over all ranks")

#define SONDE_COLUMNS_CANN_API_RANK(C)                                                     \
  C(name, Text, "name", "", "", KeyOf("api"), "of the call")                               \
  C(ratio_percent, Double, "durationRatio", "", "%", kLess, "share of the rank's calls")   \
  C(total_ns, Int, "totalTimeNs", "", "ns", kLess, "sum of the durations")                 \
  C(count, Int, "totalCount", "", "", kNeither, "calls")                                   \
  C(average_ns, Double, "averageNs", "", "ns", kLess, "mean")                              \
  C(min_ns, Double, "minNs", "", "ns", kLess, "shortest")                                  \
  C(q1_ns, Double, "Q1Ns", "", "ns", kLess, "first quartile")                              \
  C(median_ns, Double, "medNs", "", "ns", kLess, "median")                                 \
  C(q3_ns, Double, "Q3Ns", "", "ns", kLess, "third quartile")                              \
  C(max_ns, Double, "maxNs", "", "ns", kLess, "longest")                                   \
  C(deviation_ns, Double, "stdev", "", "ns", kLess, "of the population, ns in every form") \
  C(rank, Int, "rank", "", "", KeyOf("rank"), "global rank")
SONDE_CLUSTER_TABLE(CannApiRankRow, kCannApiRank, "cann_api_sum_rank", "CannApiSumRank",
                    "rank_stats", SONDE_COLUMNS_CANN_API_RANK,
                    "calls of the host interface by rank")

}  // namespace sonde::cluster
