#include "cluster/slow_rank/reasons.h"

#include <map>
#include <utility>
#include <vector>

#include "recipes/slow_rank/arrivals.h"

namespace sonde::cluster {
namespace {

using recipes::slow_rank::Arrival;
using recipes::slow_rank::Cause;
using recipes::slow_rank::MedianOf;
using recipes::slow_rank::NameOf;
using recipes::slow_rank::RankWork;
using recipes::slow_rank::Role;
using recipes::slow_rank::SlowRank;
using recipes::slow_rank::SlowRanksOfJob;
using recipes::slow_rank::WorkStep;

void AddRows(const SlowRanksOfJob& job, const SlowRank& slow, std::vector<SlowCauseRow>& rows) {
  const Role& role = job.RoleOf(slow);
  int64_t order = 0;
  for (const Cause& cause : slow.causes) {
    rows.push_back({.rank = job.RankOf(slow).rank(),
                    .order = ++order,
                    .cause = std::string(NameOf(cause.kind)),
                    .activity = std::string(NameOf(cause.activity)),
                    .what = cause.what,
                    .shapes = cause.shapes,
                    .shapes_of_others = cause.of_others,
                    .own = cause.own,
                    .others = cause.others,
                    .cause_ns = cause.ns,
                    .excess_ns = slow.excess.value,
                    .share = slow.excess.share,
                    .since_step = role.steps[slow.excess.steps.front()],
                    .slow_steps = static_cast<int64_t>(slow.excess.steps.size()),
                    .steps = static_cast<int64_t>(role.steps.size()),
                    .peer_count = static_cast<int64_t>(role.ranks.size()) - 1,
                    .after = slow.place.after,
                    .before = slow.place.before,
                    .ts = cause.ts > 0 ? cause.ts : slow.place.ts});
  }
}

void AddWork(const Role& role, std::vector<SlowWorkRow>& rows) {
  for (size_t step = 0; step < role.steps.size(); ++step) {
    std::vector<double> own;
    for (size_t rank = 0; rank < role.ranks.size(); ++rank) {
      own.push_back(static_cast<double>(role.StepOf(rank, step).own_ns()));
    }
    const double median = MedianOf(own);
    for (size_t rank = 0; rank < role.ranks.size(); ++rank) {
      const WorkStep& work = role.StepOf(rank, step);
      rows.push_back({.rank = role.ranks[rank].rank(),
                      .step = work.step,
                      .compute_ns = work.compute_ns,
                      .copy_ns = work.copy_ns,
                      .free_ns = work.free_ns,
                      .late_ns = work.late_ns,
                      .unserved_ns = work.unserved_ns,
                      .exposed_ns = work.exposed_ns,
                      .excess_ns = static_cast<int64_t>(own[rank] - median),
                      .peer_count = static_cast<int64_t>(role.ranks.size()) - 1});
    }
  }
}

std::vector<SlowArrivalRow> ArrivalRows(std::span<const RankWork* const> ranks,
                                        const SlowRanksOfJob& job) {
  std::map<std::pair<int32_t, int64_t>, std::string_view> causes;
  for (const SlowRank& one : job.slow) {
    for (const size_t step : one.excess.steps) {
      causes[{job.RankOf(one).rank(), job.RoleOf(one).steps[step]}] =
          NameOf(one.causes.front().kind);
    }
  }
  std::vector<SlowArrivalRow> rows;
  for (Arrival& arrival : ArrivalsOf(ranks)) {
    const auto cause = causes.find({arrival.last_rank, arrival.step});
    rows.push_back({.step = arrival.step,
                    .group = std::move(arrival.group),
                    .ranks = arrival.ranks,
                    .collectives = arrival.collectives,
                    .last_rank = arrival.last_rank,
                    .last_count = arrival.last_count,
                    .lost_ns = arrival.lost_ns,
                    .worst = std::move(arrival.worst),
                    .worst_ns = arrival.worst_ns,
                    .transfer_ns = arrival.transfer_ns,
                    .ts = arrival.ts,
                    .cause = cause == causes.end() ? "" : std::string(cause->second)});
  }
  return rows;
}

constexpr recipes::slow_rank::EvidenceNames kEvidence = {.cause = kSlowCause.reference_name,
                                                         .work = kSlowWork.reference_name,
                                                         .arrival = kSlowArrival.reference_name,
                                                         .rank = "rankId",
                                                         .group = "groupName"};

}  // namespace

void Explain(std::span<const RankPart> ranks, Outcome& outcome) {
  std::vector<const RankWork*> works;
  for (const RankPart& rank : ranks) {
    for (const RankWork& work : rank.part.Rows<RankWork>()) works.push_back(&work);
  }
  const SlowRanksOfJob job = recipes::slow_rank::FindSlowRanks(works);
  std::vector<SlowWorkRow> work;
  std::vector<SlowCauseRow> causes;
  for (const Role& role : job.roles) AddWork(role, work);
  for (const SlowRank& one : job.slow) AddRows(job, one, causes);
  outcome.tables.push_back(TableOf(kSlowCause, causes));
  outcome.tables.push_back(TableOf(kSlowWork, work));
  outcome.tables.push_back(TableOf(kSlowArrival, ArrivalRows(works, job)));
  for (recipes::Finding& finding : recipes::slow_rank::FindingsOf(job, kEvidence)) {
    outcome.findings.push_back(std::move(finding));
  }
}

}  // namespace sonde::cluster
