// Which rank of a job is slow by its own work, its own link or the link of its group, since when,
// and why: the one answer that `analyse`, `cluster`, findings, the advisor and the page give.
//
//   own work   (work.h) without single long calls (outliers.h), as a whole and each part by itself
//              (computing, copies, idle time before late launches, other idle time): what it takes
//              longer has to pass the test of excess.h among the ranks of its role; a part also
//              has to last: from some step on, in half of the steps at least
//   program    without the time in which other programs had its processor (work.h, unserved): who
//              takes longer by that alone is not slow, but has a sentence with the numbers
//   certain    its excess is kCertainShare of the unserved time at least, that of the rank or of
//              its peers: who shares a processor computes slower, too (cold caches, the other half
//              of a core), so that on a busy machine times say less. All of it, where the causes
//              show no other work than that of the peers: all kernels slower, or a host that does
//              nothing known
//   waited     and the others wait by kWaitedShare of that: the median one communicates longer
//              without computing, or is longer in the collectives of a group
//   link       a rank that is not slow so, but its transfers pass the test (link.h); or those of a
//              group beside other groups (group_link.h)
//   cause      cause.h; a rank without one is not named
// Ranks that are not here (WorkFacts::world) are reported, since nothing is known of them. A
// difference below kExcessShare is not reported: healthy devices differ by that. Units:
// nanoseconds. Pure, any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "recipes/finding/finding.h"
#include "recipes/slow_rank/cause.h"
#include "recipes/slow_rank/group_link.h"
#include "recipes/slow_rank/job.h"

namespace sonde::recipes::slow_rank {

// In live healthy jobs on a busy machine excesses were up to 0.03 of it.
inline constexpr double kCertainShare = 0.1;

// Between which communications of the slow steps most is lost.
struct Place {
  std::string after = {};
  std::string before = {};
  int64_t ts = 0;
};

struct SlowRank {
  size_t role = 0;  // of SlowRanksOfJob::roles
  Excess excess;
  bool is_part = false;  // one part of its own work alone, excess is of that
  std::vector<Cause> causes = {};
  Place place = {};
};

// A rank whose own work takes longer because other programs had its processor.
struct UnservedRank {
  size_t role = 0;
  Excess excess;         // of the own work with that time
  double own_ns = 0;     // unserved in the mean of these steps
  double others_ns = 0;  // the same of the others, the median
};

struct SlowRanksOfJob {
  std::vector<Role> roles;
  std::vector<SlowRank> slow;     // the slowest first
  std::vector<SlowGroup> groups;  // whose link is slow
  std::vector<UnservedRank> unserved;
  bool is_busy = false;  // other programs had the processor for kExcessShare of the own work
  size_t compared = 0;   // ranks that have others of their role
  int64_t world = -1;    // ranks of the job; -1: not known
  size_t seen = 0;
  const Role& RoleOf(const SlowRank& one) const { return roles[one.role]; }
  const RankOfJob& RankOf(const SlowRank& one) const { return RoleOf(one).ranks[one.excess.place]; }
};

// Refers to the work of the ranks, which are of one run.
SlowRanksOfJob FindSlowRanks(std::span<const RankWork* const> ranks);

// Tables and columns with the evidence: of statements, or of cluster_analysis.db.
struct EvidenceNames {
  std::string_view cause = "slow_rank_cause";
  std::string_view work = "slow_rank_work";
  std::string_view arrival = "slow_rank_arrival";
  std::string_view rank = "rank";
  std::string_view group = "\"group\"";
};

// Slow ranks and links with their causes; where there are none, that and how many ranks were
// compared; who waited for a processor; which ranks are missing. Rule "slow_rank".
std::vector<Finding> FindingsOf(const SlowRanksOfJob& job, const EvidenceNames& names = {});

// Whether a finding is one of FindingsOf() that names a rank or group, and why.
bool NamesCause(const Finding& finding);

}  // namespace sonde::recipes::slow_rank
