// cluster_time_summary: where the time of each step of each rank went.
//
//   stepTime    end - start of the step; without steps computing + not overlapped + free
//   computation, communication..., free   as the profiler delivers them (cluster/delivered), of
//               several devices those of the rank's (recipes/step_trace/rank_device.h)
//   transmit    of an operation: its least duration over the ranks of its group in the step
//   wait        its own duration - transmit; the step is the one in which the host asked for it
//   memory      sum of the copies that start in the step; not overlapped: what of them no kernel
//               and no communication covers, by a sweep over all three in the order of begin
//   free        less the memory that is not overlapped; where the steps are ours and that would be
//               negative, less what of it lies between the first and the last other work
// With one rank wait and transmit are 0. The reference gives nothing where nothing communicates; we
// give the rest. Table ClusterTimeSummary. Units: microseconds. Pure, any thread.
#pragma once

#include "cluster/frame/mode.h"

namespace sonde::cluster {

#define SONDE_TIME_KEYS(C)                                       \
  C(rank, Int, "rank", "Rank", "", KeyOf("rank"), "global rank") \
  C(step_id, Int, "step", "Step", "", KeyOf("step"), "its number; -1: without steps")
#define SONDE_COLUMNS_TIME_SUMMARY(C)                                                             \
  SONDE_TIME_KEYS(C)                                                                              \
  C(step_us, Double, "stepTime", "Step Time(us)", "us", kLess, "the step")                        \
  C(computing_us, Double, "computation", "Computation(us)", "us", kLess, "computing")             \
  C(not_overlapped_us, Double, "communicationNotOverlapComputation",                              \
    "Communication Not Overlap Computation(us)", "us", kLess, "while nothing is computed")        \
  C(overlapped_us, Double, "communicationOverlapComputation",                                     \
    "Communication Overlap Computation(us)", "us", kMore, "while computing")                      \
  C(communication_us, Double, "communication", "Communication(us)", "us", kLess, "communicating") \
  C(free_us, Double, "free", "Free(us)", "us", kLess, "neither, and no copy")                     \
  C(wait_us, Double, "communicationWaitStageTime", "Communication Wait Stage Time(us)", "us",     \
    kLess, "waiting for other ranks")                                                             \
  C(transmit_us, Double, "communicationTransmitStageTime",                                        \
    "Communication Transmit Stage Time(us)", "us", kLess, "transferring")                         \
  C(memory_us, Double, "memory", "Memory(us)", "us", kLess, "copies")                             \
  C(memory_alone_us, Double, "memoryNotOverlapComputationCommunication",                          \
    "Memory Not Overlap Computation Communication(us)", "us", kLess, "copies by themselves")
SONDE_CLUSTER_TABLE(TimeSummaryRow, kTimeSummary, "cluster_time_summary", "ClusterTimeSummary",
                    "cluster_time_summary_{time}", SONDE_COLUMNS_TIME_SUMMARY,
                    "where the time of steps went, by rank: as the profiler's own files give it, "
                    "as in the reference, else as step_trace")

// By rank and step.
std::vector<TimeSummaryRow> TimeSummary(std::span<const RankPart> ranks);

extern const Mode kClusterTimeSummaryMode;

}  // namespace sonde::cluster
