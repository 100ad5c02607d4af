#include "recipes/slow_rank/slow_ranks.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/strings.h"
#include "recipes/finding/limits.h"
#include "recipes/slow_rank/link.h"
#include "recipes/slow_rank/words.h"

namespace sonde::recipes::slow_rank {
namespace {

using Values = std::vector<std::vector<double>>;  // [rank][step]

// Own work and its parts of each rank and step.
struct OwnWork {
  Values with_unserved;
  Values whole;                 // without the time in which other programs had the processor
  std::array<Values, 4> parts;  // computing, copies, launched late, otherwise idle
};

OwnWork OwnWorkOf(const Role& role) {
  OwnWork own;
  for (size_t rank = 0; rank < role.ranks.size(); ++rank) {
    std::vector<double>& whole = own.whole.emplace_back();
    std::vector<double>& with_unserved = own.with_unserved.emplace_back();
    for (Values& part : own.parts) part.emplace_back();
    for (size_t step = 0; step < role.steps.size(); ++step) {
      const StepParts parts = role.PartsOf(rank, step);
      const std::array<int64_t, 4> values = {parts.compute_ns, parts.copy_ns, parts.late_ns,
                                             parts.idle_ns};
      for (size_t i = 0; i < values.size(); ++i) {
        own.parts[i].back().push_back(static_cast<double>(values[i]));
      }
      whole.push_back(static_cast<double>(parts.own_ns()));
      with_unserved.push_back(static_cast<double>(parts.own_ns() + parts.unserved_ns));
    }
  }
  return own;
}

// Values that differ as the part does, and have the size of the whole: shares are of that.
Values OfWhole(const Values& part, const Values& whole) {
  Values values = part;
  for (size_t step = 0; step < whole.front().size(); ++step) {
    std::vector<double> of_part;
    std::vector<double> of_whole;
    for (size_t rank = 0; rank < whole.size(); ++rank) {
      of_part.push_back(part[rank][step]);
      of_whole.push_back(whole[rank][step]);
    }
    const double more = MedianOf(std::move(of_whole)) - MedianOf(std::move(of_part));
    for (std::vector<double>& rank : values) rank[step] += more;
  }
  return values;
}

// How much longer the median of the others does something.
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

// Time in which other programs had the processor, of the rank or, where more, of its peers; in the
// mean of the steps.
double UnservedNs(const Role& role, const Excess& excess) {
  double unserved_ns = 0;
  for (const size_t step : excess.steps) {
    const auto of = [&](size_t rank) {
      return static_cast<double>(role.StepOf(rank, step).unserved_ns);
    };
    unserved_ns += of(excess.place) + std::max(LongerOfOthers(role, excess.place, of), 0.0);
  }
  return unserved_ns / static_cast<double>(excess.steps.size());
}

// Whether it is more than a busy machine makes of ranks that are alike.
bool IsCertain(const Role& role, const Excess& excess) {
  return excess.value >= kCertainShare * UnservedNs(role, excess);
}

// Whether the same work merely takes longer: all kernels, or a host of which nothing is known.
bool IsSameWork(const Cause& cause) {
  if (cause.kind == CauseKind::kFrequency) return true;
  const bool is_known =
      cause.activity != HostActivity::kOther && cause.activity != HostActivity::kUnknown;
  return cause.kind == CauseKind::kHost && !is_known;
}

// Whether it may be the machine: others had the processor for longer than the excess, and the
// causes show nothing that the program does.
bool MayBeTheMachine(const Role& role, const SlowRank& slow) {
  const Excess& excess = slow.excess;
  const double unserved_ns = UnservedNs(role, excess);
  if (unserved_ns <= 0 || unserved_ns < excess.value) return false;
  double program_ns = 0;
  for (const Cause& cause : slow.causes) {
    if (!IsSameWork(cause)) program_ns += cause.ns;
  }
  return 2 * program_ns < excess.value;
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

// Those for which others wait; of each rank the whole of its own work where that is enough, else
// the part by which most is lost.
std::vector<SlowRank> SlowByOwnWork(const Role& role, const OwnWork& own) {
  std::map<size_t, SlowRank> found;
  const auto take = [&](const Values& values, bool is_part) {
    for (Excess& excess : FindExcesses(values)) {
      // Four parts are tried, and a pause of the host or of the machine moves time between them: a
      // part has to take longer from some step on, and in half of the steps at least.
      const bool is_lasting = excess.is_steady && 2 * excess.steps.size() >= values.front().size();
      if (is_part && !is_lasting) continue;
      if (!IsCertain(role, excess)) continue;
      if (WaitedFor(role, excess) < kWaitedShare.value * excess.value) continue;
      SlowRank slow{.excess = std::move(excess), .is_part = is_part};
      const size_t place = slow.excess.place;
      const auto [known, is_new] = found.try_emplace(place, slow);
      const bool is_better =
          known->second.is_part && known->second.excess.value < slow.excess.value;
      if (!is_new && is_better) known->second = std::move(slow);
    }
  };
  take(own.whole, /*is_part=*/false);
  for (const Values& part : own.parts) take(OfWhole(part, own.whole), /*is_part=*/true);
  std::vector<SlowRank> list;
  for (auto& [place, slow] : found) list.push_back(std::move(slow));
  return list;
}

// Those that are not slow otherwise, and others wait for them.
std::vector<UnservedRank> UnservedOf(const Role& role, const OwnWork& own,
                                     const std::vector<SlowRank>& slow) {
  std::vector<UnservedRank> found;
  for (Excess& excess : FindExcesses(own.with_unserved)) {
    const size_t place = excess.place;
    const bool is_slow = std::any_of(
        slow.begin(), slow.end(), [&](const SlowRank& one) { return one.excess.place == place; });
    if (is_slow || WaitedFor(role, excess) < kWaitedShare.value * excess.value) continue;
    UnservedRank one{.excess = std::move(excess)};
    const auto count = static_cast<double>(one.excess.steps.size());
    for (const size_t step : one.excess.steps) {
      const auto unserved = [&](size_t rank) {
        return static_cast<double>(role.StepOf(rank, step).unserved_ns);
      };
      one.own_ns += unserved(place) / count;
      one.others_ns += (unserved(place) + LongerOfOthers(role, place, unserved)) / count;
    }
    // It is the reason where it is the most of what the rank takes longer.
    if (2 * (one.own_ns - one.others_ns) >= one.excess.value) found.push_back(std::move(one));
  }
  return found;
}

std::vector<SlowRank> SlowRanksOf(const Role& role, const OwnWork& own) {
  std::vector<SlowRank> found = SlowByOwnWork(role, own);
  std::vector<size_t> places;
  for (const SlowRank& slow : found) places.push_back(slow.excess.place);
  for (SlowRank& slow : found) {
    slow.causes = CausesOf(role, slow.excess, places);
    slow.place = PlaceOf(role, slow.excess);
  }
  std::erase_if(found, [&](const SlowRank& slow) { return MayBeTheMachine(role, slow); });
  for (SlowLinkCause& link : SlowLinksOf(role)) {
    if (std::find(places.begin(), places.end(), link.excess.place) != places.end()) continue;
    if (!IsCertain(role, link.excess)) continue;
    found.push_back({.excess = std::move(link.excess), .causes = {std::move(link.cause)}});
  }
  return found;
}

Finding NewFinding(std::string_view key, std::vector<std::string> arguments,
                   std::string_view table) {
  Finding finding;
  finding.rule = "slow_rank";
  finding.severity = "info";
  finding.subject = key.substr(key.find('.') + 1);
  finding.text_key = key;
  finding.arguments = std::move(arguments);
  finding.evidence = base::Concat("SELECT * FROM ", table);
  return finding;
}

void SaySlow(const SlowRanksOfJob& job, const SlowRank& slow, const EvidenceNames& names,
             std::vector<Finding>& findings) {
  const Role& role = job.RoleOf(slow);
  const std::string rank = std::to_string(job.RankOf(slow).rank());
  const auto add = [&](std::string_view key, std::vector<std::string> arguments) {
    Finding finding = NewFinding(key, std::move(arguments), names.cause);
    finding.severity = "warning";
    finding.rank = job.RankOf(slow).rank();
    finding.trace = job.RankOf(slow).trace();
    finding.step = role.steps[slow.excess.steps.front()];
    finding.value = 100 * slow.excess.share;
    finding.unit = "%";
    finding.limit = 100 * kExcessShare;
    finding.confidence =
        std::clamp(slow.causes.front().ns / std::max(slow.excess.value, 1.0), 0.0, 1.0);
    finding.evidence += base::Concat(" WHERE ", names.rank, " = ", rank);
    findings.push_back(std::move(finding));
  };
  const std::string since = SinceText(slow.excess, role.steps);
  const std::string peers = std::to_string(role.ranks.size() - 1);
  const Cause& first = slow.causes.front();
  if (first.kind == CauseKind::kLink) {
    add("cluster.slow_own_link",
        {rank, since, Duration(first.own), Duration(first.others), first.what, peers});
    return;
  }
  add(slow.is_part ? "cluster.slow_part" : "cluster.slow_cause",
      {rank, since, Duration(slow.excess.value), Fixed(100 * slow.excess.share, 1), peers,
       CauseText(first)});
  for (size_t i = 1; i < slow.causes.size(); ++i) {
    add("cluster.slow_also", {rank, Duration(slow.causes[i].ns), CauseText(slow.causes[i])});
  }
}

void SayGroup(const SlowGroup& group, const EvidenceNames& names, std::vector<Finding>& findings) {
  Finding finding = NewFinding(
      "cluster.slow_group_link",
      {group.name, group.ranks, SinceText(group.excess, group.steps), Duration(group.own_ns),
       Duration(group.others_ns), std::to_string(group.peers), group.type},
      names.arrival);
  finding.severity = "warning";
  finding.step = group.steps[group.excess.steps.front()];
  finding.value = 100 * (group.own_ns / std::max(group.others_ns, 1.0) - 1);
  finding.unit = "%";
  finding.limit = 100 * kLinkShare;
  finding.evidence +=
      base::Concat(" WHERE ", names.group, " = '", base::ReplaceAll(group.name, "'", "''"), "'");
  findings.push_back(std::move(finding));
}

void SayUnserved(const SlowRanksOfJob& job, const UnservedRank& one, const EvidenceNames& names,
                 std::vector<Finding>& findings) {
  const Role& role = job.roles[one.role];
  const RankOfJob& rank = role.ranks[one.excess.place];
  const std::string number = std::to_string(rank.rank());
  Finding finding = NewFinding(
      "cluster.unserved",
      {number, Duration(one.own_ns), Duration(one.others_ns), SinceText(one.excess, role.steps),
       Duration(one.excess.value), std::to_string(role.ranks.size() - 1)},
      names.work);
  finding.trace = rank.trace();
  finding.step = role.steps[one.excess.steps.front()];
  finding.evidence += base::Concat(" WHERE ", names.rank, " = ", number);
  findings.push_back(std::move(finding));
}

}  // namespace

bool NamesCause(const Finding& finding) {
  return finding.text_key == "cluster.slow_cause" || finding.text_key == "cluster.slow_part" ||
         finding.text_key == "cluster.slow_also" || finding.text_key == "cluster.slow_own_link" ||
         finding.text_key == "cluster.slow_group_link";
}

namespace {

bool IsBusy(std::span<const RankWork* const> ranks) {
  double own_ns = 0;
  double unserved_ns = 0;
  for (const RankWork* work : ranks) {
    for (const WorkStep& step : work->Rows<WorkStep>()) {
      own_ns += static_cast<double>(step.own_ns());
      unserved_ns += static_cast<double>(step.unserved_ns);
    }
  }
  return unserved_ns > 0 && unserved_ns >= kExcessShare * own_ns;
}

}  // namespace

SlowRanksOfJob FindSlowRanks(std::span<const RankWork* const> ranks) {
  SlowRanksOfJob job;
  job.roles = RolesOf(ranks);
  job.is_busy = IsBusy(ranks);
  for (const RankWork* work : ranks) {
    ++job.seen;
    for (const WorkFacts& facts : work->Rows<WorkFacts>()) {
      job.world = std::max(job.world, facts.world);
    }
  }
  for (size_t role = 0; role < job.roles.size(); ++role) {
    if (job.roles[role].ranks.size() < 2 || job.roles[role].steps.empty()) continue;
    job.compared += job.roles[role].ranks.size();
    const OwnWork own = OwnWorkOf(job.roles[role]);
    const std::vector<SlowRank> slow = SlowRanksOf(job.roles[role], own);
    for (UnservedRank& one : UnservedOf(job.roles[role], own, slow)) {
      one.role = role;
      job.unserved.push_back(std::move(one));
    }
    for (SlowRank one : slow) {
      one.role = role;
      job.slow.push_back(std::move(one));
    }
  }
  std::stable_sort(job.slow.begin(), job.slow.end(), [](const SlowRank& a, const SlowRank& b) {
    return a.excess.value > b.excess.value;
  });
  job.groups = SlowGroupsOf(ranks);
  return job;
}

std::vector<Finding> FindingsOf(const SlowRanksOfJob& job, const EvidenceNames& names) {
  std::vector<Finding> findings;
  for (const SlowRank& one : job.slow) SaySlow(job, one, names, findings);
  for (const SlowGroup& group : job.groups) SayGroup(group, names, findings);
  if (findings.empty() && job.compared == 0) {
    findings.push_back(NewFinding("cluster.no_peers", {}, names.work));
  } else if (findings.empty()) {
    findings.push_back(NewFinding(job.is_busy ? "cluster.no_slow_program" : "cluster.no_slow_work",
                                  {std::to_string(job.compared), Fixed(100 * kExcessShare, 0)},
                                  names.work));
  }
  for (const UnservedRank& one : job.unserved) SayUnserved(job, one, names, findings);
  if (job.world > static_cast<int64_t>(job.seen)) {
    findings.push_back(NewFinding("cluster.ranks_missing",
                                  {std::to_string(job.seen), std::to_string(job.world)},
                                  names.work));
  }
  return findings;
}

}  // namespace sonde::recipes::slow_rank
