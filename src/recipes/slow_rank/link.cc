#include "recipes/slow_rank/link.h"

#include <algorithm>
#include <map>
#include <utility>

#include "recipes/slow_rank/others.h"

namespace sonde::recipes::slow_rank {
namespace {

struct Transfers {
  double count = 0;
  double ns = 0;
  int64_t ts = 0;
  int64_t longest_ns = -1;
  double PerCall() const { return ns / count; }
};
using Kind = std::pair<std::string_view, int64_t>;  // type, size
using ByKind = std::map<Kind, Transfers>;

// [step] of a rank.
std::vector<ByKind> TransfersOf(const Role& role, size_t rank) {
  const RankOfJob& one = role.ranks[rank];
  std::map<int32_t, size_t> step_of_place;
  for (size_t step = 0; step < role.steps.size(); ++step) {
    step_of_place[role.places[rank][step]] = step;
  }
  std::vector<ByKind> steps(role.steps.size());
  for (const WorkCollective& op : one.Rows<WorkCollective>()) {
    const auto step = step_of_place.find(op.step);
    if (step == step_of_place.end() || op.is_p2p || op.transit_ns < 0 || op.size_bytes < 0)
      continue;
    Transfers& sum = steps[step->second][{one.Text(op.type), op.size_bytes}];
    ++sum.count;
    sum.ns += static_cast<double>(op.transit_ns);
    if (op.transit_ns > sum.longest_ns) {
      sum.longest_ns = op.transit_ns;
      sum.ts = op.ts;
    }
  }
  return steps;
}

// [step]: the times of a call of all ranks that have the kind, in order.
using TimesByKind = std::map<Kind, std::vector<double>>;

std::vector<TimesByKind> TimesPerCall(const std::vector<std::vector<ByKind>>& ranks) {
  std::vector<TimesByKind> steps(ranks.front().size());
  for (const std::vector<ByKind>& rank : ranks) {
    for (size_t step = 0; step < rank.size(); ++step) {
      for (const auto& [kind, transfers] : rank[step]) {
        steps[step][kind].push_back(transfers.PerCall());
      }
    }
  }
  for (TimesByKind& kinds : steps) {
    for (auto& [kind, times] : kinds) std::ranges::sort(times);
  }
  return steps;
}

struct Sum {
  std::vector<double> excess;  // by step
  double own = 0;
  double expected = 0;
  std::map<Kind, double> by_kind;
};

Sum SumOf(const std::vector<ByKind>& rank, const std::vector<TimesByKind>& all) {
  Sum sum;
  for (size_t step = 0; step < rank.size(); ++step) {
    double& excess = sum.excess.emplace_back(0);
    for (const auto& [kind, transfers] : rank[step]) {
      const std::vector<double>& times = all[step].at(kind);
      if (times.size() < 2) continue;  // it alone has them
      const double median = MedianWithout(times, transfers.PerCall());
      const double difference = transfers.ns - transfers.count * median;
      excess += difference;
      sum.own += transfers.ns;
      sum.expected += transfers.count * median;
      sum.by_kind[kind] += difference;
    }
  }
  return sum;
}

Cause CauseOf(const Sum& sum, const std::vector<ByKind>& steps) {
  const auto worst =
      std::max_element(sum.by_kind.begin(), sum.by_kind.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  const auto count = static_cast<double>(steps.size());
  Cause cause{.kind = CauseKind::kLink,
              .what = std::string(worst->first.first),
              .own = sum.own / count,
              .others = sum.expected / count};
  int64_t longest_ns = -1;
  for (const ByKind& step : steps) {
    const auto found = step.find(worst->first);
    if (found == step.end() || found->second.longest_ns <= longest_ns) continue;
    longest_ns = found->second.longest_ns;
    cause.ts = found->second.ts;
  }
  return cause;
}

}  // namespace

std::vector<SlowLinkCause> SlowLinksOf(const Role& role) {
  const size_t count = role.ranks.size();
  if (count < 3 || role.steps.empty()) return {};  // of two none is the odd one
  std::vector<std::vector<ByKind>> ranks;
  for (size_t rank = 0; rank < count; ++rank) ranks.push_back(TransfersOf(role, rank));
  const std::vector<TimesByKind> times = TimesPerCall(ranks);
  std::vector<Sum> sums;
  // The own work is what the excess is measured with; that of all, so that it alone differs.
  std::vector<double> work;
  for (size_t step = 0; step < role.steps.size(); ++step) {
    std::vector<double> own;
    for (size_t rank = 0; rank < count; ++rank) {
      own.push_back(static_cast<double>(role.StepOf(rank, step).own_ns()));
    }
    work.push_back(MedianOf(std::move(own)));
  }
  std::vector<std::vector<double>> values;
  for (size_t rank = 0; rank < count; ++rank) {
    sums.push_back(SumOf(ranks[rank], times));
    std::vector<double>& row = values.emplace_back(work);
    for (size_t step = 0; step < work.size(); ++step) row[step] += sums[rank].excess[step];
  }
  std::vector<SlowLinkCause> found;
  for (Excess& excess : FindExcesses(values)) {
    const Sum& sum = sums[excess.place];
    if (sum.own < (1 + kLinkShare) * sum.expected) continue;
    Cause cause = CauseOf(sum, ranks[excess.place]);
    cause.ns = excess.value;
    found.push_back({std::move(excess), std::move(cause)});
  }
  return found;
}

}  // namespace sonde::recipes::slow_rank
