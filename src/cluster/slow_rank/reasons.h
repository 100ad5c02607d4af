// slow_rank beyond the reference: which rank is slow, since when, and why, as every command says it
// (recipes/slow_rank/slow_ranks.h). What each rank does in a step is in SlowRankWork, who came last
// where in SlowRankArrival (arrivals.h), the causes in SlowRankCause (cause.h). Pure, any thread.
#pragma once

#include <array>
#include <span>

#include "cluster/frame/mode.h"
#include "cluster/frame/table.h"
#include "recipes/slow_rank/slow_ranks.h"

namespace sonde::cluster {

#define SONDE_COLUMNS_SLOW_CAUSE(C)                                                              \
  C(rank, Int, "rankId", "", "", KeyOf("rank"), "global rank")                                   \
  C(order, Int, "causeOrder", "", "", kLabel, "1: the cause; 2 and more: what adds to it")       \
  C(cause, Text, "cause", "", "", kLabel,                                                        \
    "slow kernel, low frequency, more work, memory copies, host, device idle, link")             \
  C(activity, OptText, "hostActivity", "", "", kLabel,                                           \
    "what the host did: data loading, garbage collection, lock, compilation, memory, "           \
    "checkpoint, other")                                                                         \
  C(what, OptText, "what", "", "", kLabel, "kernel, host slice, copy or collective")             \
  C(shapes, OptText, "inputShapes", "", "", kLabel, "of the kernel")                             \
  C(shapes_of_others, OptText, "inputShapesOfPeers", "", "", kLabel, "where they differ")        \
  C(own, Double, "own", "", "", kNeither,                                                        \
    "slow kernel: ns a call; more work: calls a step; low frequency: MHz; else ns a step")       \
  C(others, Double, "peers", "", "", kNeither, "the same of its peers, the median")              \
  C(cause_ns, Double, "causeNs", "", "ns", kLess, "what it adds to a slow step")                 \
  C(excess_ns, Double, "excessNs", "", "ns", kLess, "how much longer its own work takes a step") \
  C(share, Double, "excessShare", "", "", kLess, "of the own work of its peers")                 \
  C(since_step, Int, "sinceStep", "", "", KeyOf("step"), "first step in which it was slow")      \
  C(slow_steps, Int, "slowSteps", "", "", kLess, "steps in which it was slow")                   \
  C(steps, Int, "steps", "", "", kNeither, "steps that its peers have, too")                     \
  C(peer_count, Int, "peerCount", "", "", kNeither, "ranks that do the same work")               \
  C(after, OptText, "afterOp", "", "", kLabel, "most is lost from this communication on")        \
  C(before, OptText, "beforeOp", "", "", kLabel, "to this one; NULL: end of the step")           \
  C(ts, Int, "startNs", "-", "ns", kLabel, "where to look in the trace of the rank")
SONDE_CLUSTER_TABLE(SlowCauseRow, kSlowCause, "slow_rank_cause", "SlowRankCause", "slow_rank_cause",
                    SONDE_COLUMNS_SLOW_CAUSE, "why ranks are slow")

#define SONDE_COLUMNS_SLOW_WORK(C)                                                                \
  C(rank, Int, "rankId", "", "", KeyOf("rank"), "global rank")                                    \
  C(step, Int, "step", "", "", KeyOf("step"), "number of the step; -1: the whole recording")      \
  C(compute_ns, Int, "ComputingNs", "", "ns", kLess, "time with computing")                       \
  C(copy_ns, Int, "CopyNs", "", "ns", kLess, "copies, without computing or communication")        \
  C(free_ns, Int, "FreeNs", "", "ns", kLess, "nothing ran")                                       \
  C(late_ns, Int, "LateNs", "", "ns", kLess, "of it: the host launched late")                     \
  C(unserved_ns, Int, "UnservedNs", "", "ns", kLess,                                              \
    "of computing and idle: the host's thread waited for a processor that others had")            \
  C(exposed_ns, Int, "NotOverlappedNs", "", "ns", kNeither, "communication without computing")    \
  C(excess_ns, Int, "ExcessNs", "", "ns", kLess, "own work (the first three) longer than peers'") \
  C(peer_count, Int, "peerCount", "", "", kNeither, "ranks that do the same work")
SONDE_CLUSTER_TABLE(SlowWorkRow, kSlowWork, "slow_rank_work", "SlowRankWork", "slow_rank_work",
                    SONDE_COLUMNS_SLOW_WORK, "what each rank itself did in each step")

#define SONDE_COLUMNS_SLOW_ARRIVAL(C)                                                        \
  C(step, Int, "step", "", "", KeyOf("step"), "number of the step; -1: the whole recording") \
  C(group, Text, "groupName", "", "", KeyOf("group"), "communicator")                        \
  C(ranks, Int, "rankCount", "", "", kNeither, "ranks of it")                                \
  C(collectives, Int, "collectives", "", "", kNeither, "that all of them have")              \
  C(last_rank, Int, "lastRank", "", "", KeyOf("rank"), "rank that the others lost most by")  \
  C(last_count, Int, "lastCount", "", "", kLess, "collectives to which it came last")        \
  C(lost_ns, Double, "LostNs", "", "ns", kLess, "time that each of the others lost by it")   \
  C(worst, Text, "worstOp", "", "", kLabel, "the collective in which they lost most")        \
  C(worst_ns, Double, "WorstNs", "", "ns", kLess, "lost in that")                            \
  C(transfer_ns, Double, "TransferNs", "", "ns", kLess, "of all, when the last was there")   \
  C(ts, Int, "startNs", "-", "ns", kLabel, "begin of that on the last rank")                 \
  C(cause, OptText, "cause", "", "", kLabel, "why; NULL: its own work was no longer than usual")
SONDE_CLUSTER_TABLE(SlowArrivalRow, kSlowArrival, "slow_rank_arrival", "SlowRankArrival",
                    "slow_rank_arrival", SONDE_COLUMNS_SLOW_ARRIVAL,
                    "who came last at the collectives of each step and group")

// Appends the three tables and the sentences. Of each part: its row of
// recipes::slow_rank::RankWork.
void Explain(std::span<const RankPart> ranks, Outcome& outcome);

// Whether a sentence is one of Explain's that name a slow rank or link and why.
inline bool NamesCause(const recipes::Finding& finding) {
  return recipes::slow_rank::NamesCause(finding);
}

}  // namespace sonde::cluster
