#include "cluster/slow_rank/reasons.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "cluster/frame/add_finding.h"
#include "cluster/slow_rank/arrivals.h"
#include "cluster/slow_rank/cause.h"
#include "cluster/slow_rank/link.h"
#include "cluster/slow_rank/words.h"
#include "recipes/finding/limits.h"

namespace sonde::cluster {
namespace {

// Without outliers; kernels may run in parallel, so these are not the whole computing.
std::vector<std::vector<double>> OwnWork(const Role& role) {
  std::vector<std::vector<double>> values;
  for (size_t rank = 0; rank < role.ranks.size(); ++rank) {
    const RankOfJob& one = role.ranks[rank];
    std::vector<int64_t> outliers(one.Rows<WorkStep>().size(), 0);
    for (size_t i = 0; i < role.outliers[rank].size(); ++i) {
      outliers[static_cast<size_t>(one.Rows<WorkTasks>()[i].step)] += role.outliers[rank][i];
    }
    std::vector<double>& row = values.emplace_back();
    for (size_t step = 0; step < role.steps.size(); ++step) {
      const WorkStep& work = role.StepOf(rank, step);
      const int64_t outlier = outliers[static_cast<size_t>(role.places[rank][step])];
      row.push_back(static_cast<double>(work.own_ns() - std::min(outlier, work.compute_ns / 2)));
    }
  }
  return values;
}

// How much longer the median of the others is.
template <class Get>
double LongerOfOthers(const Role& role, size_t place, const Get& get) {
  std::vector<double> others;
  for (size_t rank = 0; rank < role.ranks.size(); ++rank) {
    if (rank != place) others.push_back(get(rank));
  }
  return MedianOf(std::move(others)) - get(place);
}

// Time of the collectives of each group that a rank is in, in a step.
using TimeByGroup = std::map<std::string_view, double>;
TimeByGroup TimesOf(const RankOfJob& rank, int32_t step) {
  TimeByGroup times;
  for (const WorkCollective& op : rank.Rows<WorkCollective>()) {
    if (op.step == step && !op.is_p2p) times[rank.Text(op.group)] += static_cast<double>(op.dur_ns);
  }
  return times;
}

// Adds by how much longer the median of the others of each group is in its collectives.
void AddWaits(const Role& role, size_t place, size_t step, TimeByGroup& waits) {
  std::map<std::string_view, std::vector<double>> others;
  for (size_t rank = 0; rank < role.ranks.size(); ++rank) {
    if (rank == place) continue;
    for (const auto& [group, ns] : TimesOf(role.ranks[rank], role.places[rank][step])) {
      others[group].push_back(ns);
    }
  }
  for (const auto& [group, ns] : TimesOf(role.ranks[place], role.places[place][step])) {
    const auto found = others.find(group);
    if (found != others.end()) waits[group] += MedianOf(found->second) - ns;
  }
}

// How long the others waited for it, in the mean of the steps: what the median one of them
// communicates longer without computing, or is longer in the collectives of one group. Of many
// ranks only those wait that are in a group with the slow one.
double WaitedFor(const Role& role, const Excess& excess) {
  double exposed = 0;
  TimeByGroup waits;
  for (const size_t step : excess.steps) {
    exposed += LongerOfOthers(role, excess.place, [&](size_t rank) {
      return static_cast<double>(role.StepOf(rank, step).exposed_ns);
    });
    AddWaits(role, excess.place, step, waits);
  }
  double most = exposed;
  for (const auto& [group, ns] : waits) most = std::max(most, ns);
  return most / static_cast<double>(excess.steps.size());
}

// Between which communications of the slow steps most is lost.
struct Place {
  std::string after = {};
  std::string before = {};
  int64_t ts = 0;
};

using Segments = std::vector<const WorkSegment*>;
Segments SegmentsOf(const RankOfJob& rank, int32_t step) {
  Segments list;
  for (const WorkSegment& segment : rank.Rows<WorkSegment>()) {
    if (segment.step == step) list.push_back(&segment);
  }
  return list;
}

Place PlaceOf(const Role& role, const Excess& excess) {
  Place place;
  double most = 0;
  for (const size_t step : excess.steps) {
    const RankOfJob& slow = role.ranks[excess.place];
    const Segments own = SegmentsOf(slow, role.places[excess.place][step]);
    std::vector<Segments> others;
    for (size_t rank = 0; rank < role.ranks.size(); ++rank) {
      if (rank == excess.place) continue;
      others.push_back(SegmentsOf(role.ranks[rank], role.places[rank][step]));
      if (others.back().size() != own.size()) others.pop_back();
    }
    for (size_t i = 0; i < own.size() && !others.empty(); ++i) {
      std::vector<double> values;
      for (const Segments& list : others) values.push_back(static_cast<double>(list[i]->own_ns));
      const double longer = static_cast<double>(own[i]->own_ns) - MedianOf(std::move(values));
      if (longer <= most) continue;
      most = longer;
      place = {i == 0 ? "" : std::string(slow.Text(own[i - 1]->operation)),
               std::string(slow.Text(own[i]->operation)), own[i]->begin_ns};
    }
  }
  return place;
}

struct SlowRankOfJob {
  const Role* role = nullptr;
  Excess excess;
  std::vector<Cause> causes = {};
  Place place = {};
  int32_t rank() const { return role->ranks[excess.place].rank(); }
};

std::vector<SlowRankOfJob> SlowRanksOf(const Role& role) {
  std::vector<SlowRankOfJob> found;
  std::vector<size_t> places;
  for (Excess& excess : FindExcesses(OwnWork(role))) {
    if (WaitedFor(role, excess) < recipes::kWaitedShare.value * excess.value) continue;
    places.push_back(excess.place);
    found.push_back({.role = &role, .excess = std::move(excess)});
  }
  for (SlowRankOfJob& slow : found) {
    slow.causes = CausesOf(role, slow.excess, places);
    slow.place = PlaceOf(role, slow.excess);
  }
  for (SlowLinkCause& link : SlowLinksOf(role)) {
    if (std::find(places.begin(), places.end(), link.excess.place) != places.end()) continue;
    found.push_back(
        {.role = &role, .excess = std::move(link.excess), .causes = {std::move(link.cause)}});
  }
  return found;
}

void AddRows(const SlowRankOfJob& slow, std::vector<SlowCauseRow>& rows) {
  int64_t order = 0;
  for (const Cause& cause : slow.causes) {
    rows.push_back({.rank = slow.rank(),
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
                    .since_step = slow.role->steps[slow.excess.steps.front()],
                    .slow_steps = static_cast<int64_t>(slow.excess.steps.size()),
                    .steps = static_cast<int64_t>(slow.role->steps.size()),
                    .peer_count = static_cast<int64_t>(slow.role->ranks.size()) - 1,
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
                      .exposed_ns = work.exposed_ns,
                      .excess_ns = static_cast<int64_t>(own[rank] - median),
                      .peer_count = static_cast<int64_t>(role.ranks.size()) - 1});
    }
  }
}

std::vector<SlowArrivalRow> ArrivalRows(std::span<const RankPart> ranks,
                                        const std::vector<SlowRankOfJob>& slow) {
  std::map<std::pair<int32_t, int64_t>, std::string_view> causes;
  for (const SlowRankOfJob& one : slow) {
    for (const size_t step : one.excess.steps) {
      causes[{one.rank(), one.role->steps[step]}] = NameOf(one.causes.front().kind);
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
                    .ts = arrival.ts,
                    .cause = cause == causes.end() ? "" : std::string(cause->second)});
  }
  return rows;
}

void ReportSlow(const SlowRankOfJob& slow, Outcome& outcome) {
  const auto add = [&](std::string_view key, std::vector<std::string> arguments) {
    recipes::Finding& finding = AddFinding(outcome, key, std::move(arguments), kSlowCause);
    finding.severity = "warning";
    finding.rank = slow.rank();
    finding.step = slow.role->steps[slow.excess.steps.front()];
    finding.value = 100 * slow.excess.share;
    finding.unit = "%";
    finding.limit = 100 * kExcessShare;
    finding.confidence =
        std::clamp(slow.causes.front().ns / std::max(slow.excess.value, 1.0), 0.0, 1.0);
    finding.evidence += base::Concat(" WHERE rankId = ", std::to_string(slow.rank()));
  };
  const std::string rank = std::to_string(slow.rank());
  const std::string since = SinceText(slow.excess, slow.role->steps);
  const std::string peers = std::to_string(slow.role->ranks.size() - 1);
  const Cause& first = slow.causes.front();
  if (first.kind == CauseKind::kLink) {
    add("cluster.slow_own_link",
        {rank, since, Duration(first.own), Duration(first.others), first.what, peers});
    return;
  }
  add("cluster.slow_cause", {rank, since, Duration(slow.excess.value),
                             Fixed(100 * slow.excess.share, 1), peers, CauseText(first)});
  for (size_t i = 1; i < slow.causes.size(); ++i) {
    add("cluster.slow_also", {rank, Duration(slow.causes[i].ns), CauseText(slow.causes[i])});
  }
}

}  // namespace

bool TellsOfCause(const recipes::Finding& finding) {
  return finding.text_key == "cluster.slow_cause" || finding.text_key == "cluster.slow_also" ||
         finding.text_key == "cluster.slow_own_link";
}

void Explain(std::span<const RankPart> ranks, Outcome& outcome) {
  const std::vector<Role> roles = RolesOf(ranks);
  std::vector<SlowRankOfJob> slow;
  std::vector<SlowWorkRow> work;
  size_t compared = 0;
  for (const Role& role : roles) {
    AddWork(role, work);
    if (role.ranks.size() < 2 || role.steps.empty()) continue;
    compared += role.ranks.size();
    for (SlowRankOfJob& one : SlowRanksOf(role)) slow.push_back(std::move(one));
  }
  std::sort(slow.begin(), slow.end(),
            [](const auto& a, const auto& b) { return a.excess.value > b.excess.value; });
  std::vector<SlowCauseRow> causes;
  for (const SlowRankOfJob& one : slow) AddRows(one, causes);
  outcome.tables.push_back(TableOf(kSlowCause, causes));
  outcome.tables.push_back(TableOf(kSlowWork, work));
  outcome.tables.push_back(TableOf(kSlowArrival, ArrivalRows(ranks, slow)));
  for (const SlowRankOfJob& one : slow) ReportSlow(one, outcome);
  if (!slow.empty()) return;
  if (compared == 0) {
    AddFinding(outcome, "cluster.no_peers", {}, kSlowWork);
  } else {
    AddFinding(outcome, "cluster.no_slow_work",
               {std::to_string(compared), Fixed(100 * kExcessShare, 0)}, kSlowWork);
  }
}

}  // namespace sonde::cluster
