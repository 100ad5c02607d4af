// What the base modes have to say: slow links, who waits, and where the time goes. Which rank is
// slow the traces themselves say (closer.cc).
#include <algorithm>
#include <set>

#include "base/strings.h"
#include "cluster/base/base.h"
#include "cluster/frame/add_finding.h"
#include "recipes/finding/limits.h"
#include "recipes/trace/counted_steps.h"

namespace sonde::cluster {

using base::Concat;

std::vector<const DeliveredStep*> StepsThatCount(const RankPart& rank) {
  const auto& steps = rank.part.Rows<DeliveredStep>();
  std::vector<recipes::StepLength> lengths;
  for (const DeliveredStep& step : steps) {
    const double us = step.us[kComputing] + step.us[kNotOverlapped] + step.us[kFree];
    lengths.push_back({.ns = static_cast<int64_t>(1e3 * us)});
  }
  const recipes::CountedSteps counted = recipes::CountSteps(lengths);
  std::vector<const DeliveredStep*> list;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (counted.Has(i)) list.push_back(&steps[i]);
  }
  return list;
}

void ReportSteps(Ranks ranks, Outcome& outcome) {
  double computing = 0;
  double exposed = 0;
  double free = 0;
  size_t with_steps = 0;
  std::set<std::string> steps;
  for (const RankPart& rank : ranks) {
    with_steps += rank.part.Rows<DeliveredStep>().empty() ? 0 : 1;
    for (const DeliveredStep* step : StepsThatCount(rank)) {
      steps.insert(step->step);
      computing += step->us[kComputing];
      exposed += step->us[kNotOverlapped];
      free += step->us[kFree];
    }
  }
  if (with_steps == 0) return;
  const double all = computing + exposed + free;
  AddFinding(outcome, "cluster.steps",
             {std::to_string(with_steps), std::to_string(steps.size()), Percent(computing, all),
              Percent(exposed, all), Percent(free, all)},
             kClusterStep);
}

void ReportWaits(Ranks ranks, Outcome& outcome) {
  double most = 0;
  int32_t waiting = -1;
  for (const RankPart& rank : ranks) {
    double wait_ms = 0;
    double all_ms = 0;
    for (const DeliveredTime& time : rank.part.Rows<DeliveredTime>()) {
      wait_ms += time.wait_ms;
      all_ms += time.elapse_ms;
    }
    const double share = all_ms > 0 ? wait_ms / all_ms : 0;
    if (share <= most) continue;
    most = share;
    waiting = rank.rank;
  }
  if (waiting < 0) return;
  AddFinding(outcome, "cluster.waited", {std::to_string(waiting), Fixed(100 * most, 1)},
             kClusterTime)
      .rank = waiting;
}

// Of each kind of link that leads to another rank.
void ReportLinks(const GlobalLinks& links, Outcome& outcome) {
  struct Sum {
    double size_mb = 0;
    double time_ms = 0;
    double Bandwidth() const { return size_mb / time_ms; }
  };
  std::map<std::string, std::map<std::pair<int32_t, int32_t>, Sum>> transports;
  for (const GlobalLink& link : links.links) {
    const bool is_sum = link.op.find("total") != std::string::npos;
    if (!is_sum || link.src == link.dst || link.time_ms <= 0) continue;
    Sum& sum = transports[link.transport][{link.src, link.dst}];
    sum.size_mb += link.size_mb;
    sum.time_ms += link.time_ms;
  }
  for (const auto& [transport, ends] : transports) {
    if (ends.size() < 3) continue;  // of two none is the odd one
    std::vector<std::pair<double, std::pair<int32_t, int32_t>>> sorted;
    for (const auto& [ranks, sum] : ends) sorted.emplace_back(sum.Bandwidth(), ranks);
    std::sort(sorted.begin(), sorted.end());
    const auto& [slowest, ranks] = sorted.front();
    const double median = sorted[sorted.size() / 2].first;
    if (slowest > (1 - recipes::kSlowLinkShare.value) * median) continue;
    AddFinding(outcome, "cluster.slow_transport",
               {transport, std::to_string(ranks.first), std::to_string(ranks.second),
                Fixed(slowest, 2), Fixed(median, 2)},
               kClusterMatrix);
  }
}

void ReportGroups(const std::vector<KnownGroup>& groups, Outcome& outcome) {
  std::map<std::string, int> names;
  for (const KnownGroup& group : groups) ++names[group.pg_name];
  std::vector<std::string> parts;
  for (const auto& [name, count] : names) {
    parts.push_back(Concat(std::to_string(count), " ", name.empty() ? "(?)" : name));
  }
  if (parts.empty()) return;
  AddFinding(outcome, "cluster.groups", {std::to_string(groups.size()), base::Join(parts, ", ")},
             kGroupMap);
}

}  // namespace sonde::cluster
