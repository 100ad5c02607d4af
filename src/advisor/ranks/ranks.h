// Several ranks side by side: their times and links, the rank that the rules of one trace are run
// for, and the advice for all of them.
//
// The figures are those of the cluster mode `all` (cluster/base). Units stand in the names; the
// size and time of a link count the sum over operations in addition, as msprof-analyze does. Pure
// but for MeasureRanks. Threads: one. Errors: where no rank gives anything.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "advisor/frame/evaluate.h"
#include "base/status.h"
#include "cluster/frame/run.h"

namespace sonde::advisor {

struct StepOfRank {
  int64_t step = -1;  // -1: the trace has none
  int64_t rank = -1;
  double compute_us = 0;
  double communication_us = 0;  // that nothing hides
  double free_us = 0;
  double TotalUs() const { return compute_us + communication_us + free_us; }
};

struct LinkOfRank {
  int64_t step = -1;
  int64_t rank = -1;
  double rdma_mb = 0;
  double rdma_ms = 0;
  double sdma_mb = 0;
  double sdma_ms = 0;
  double RdmaGbps() const;
  double SdmaGbps() const;
};

// An operation of one rank.
struct OpOfRank {
  std::string group;
  std::string name;
  int64_t step = -1;
  int64_t rank = -1;
  double elapsed_ms = 0;
  double rdma_mb = 0;
  double rdma_ms = 0;
  double rdma_gbps = 0;
};

struct Ranks {
  std::vector<StepOfRank> steps;  // by step and rank
  std::vector<LinkOfRank> links;  // by step and rank
  std::vector<OpOfRank> ops;
  cluster::Outcome outcome;    // of the mode, to be written
  std::string without_causes;  // why nobody looked for causes of slow ranks; "": somebody did
  std::vector<job::TraceFailure> failures;
};

Result<Ranks> MeasureRanks(const std::vector<cluster::Rank>& ranks,
                           const cluster::RunOptions& options, const std::string& path,
                           const std::string& result_folder);

// The rank with the largest value and the one with the least; -1 where they lie closer together
// than a share of their mean.
struct Extremes {
  int64_t most_rank = -1;
  int64_t most_step = -1;
  int64_t least_rank = -1;
  int64_t least_step = -1;
};
struct Measured {
  int64_t step;
  int64_t rank;
  double value;
};
Extremes ExtremesOf(const std::vector<Measured>& values);

// Functions of rules: "slow_rank", "slow_rank_cause", "slow_link", "retransmission".
Found SlowRank(const Rule& rule, const Ranks& ranks, Language language);
Found SlowRankCause(const Ranks& ranks, Language language);
Found SlowLink(const Ranks& ranks, Language language);
Found Retransmission(const Rule& rule, const Ranks& ranks);

}  // namespace sonde::advisor
