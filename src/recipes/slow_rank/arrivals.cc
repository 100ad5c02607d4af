#include "recipes/slow_rank/arrivals.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "recipes/slow_rank/excess.h"
#include "recipes/slow_rank/job.h"

namespace sonde::recipes::slow_rank {
namespace {

struct Member {
  int32_t rank = 0;
  const WorkCollective* op = nullptr;
  std::string_view name;
};
// The members of each operation of a type, in the order of time.
using Operations = std::vector<std::vector<Member>>;
using ByType = std::map<std::string_view, Operations>;
using ByGroup = std::map<std::pair<int64_t, std::string_view>, ByType>;  // step, group

ByGroup GroupsOf(std::span<const RankWork* const> ranks) {
  ByGroup groups;
  for (const RankWork* work : ranks) {
    const RankOfJob rank(*work);
    std::map<std::tuple<int32_t, int32_t, int32_t>, size_t> numbers;
    for (const WorkCollective& op : rank.Rows<WorkCollective>()) {
      if (op.is_p2p) continue;
      const int64_t step = rank.Rows<WorkStep>()[static_cast<size_t>(op.step)].step;
      Operations& list = groups[{step, rank.Text(op.group)}][rank.Text(op.type)];
      const size_t number = numbers[{op.step, op.group, op.type}]++;
      if (list.size() <= number) list.resize(number + 1);
      list[number].push_back({rank.rank(), &op, rank.Text(op.name)});
    }
  }
  return groups;
}

struct Lost {
  double ns = 0;
  int64_t count = 0;
  double worst_ns = -1;
  Member worst;
};

// Returns the time of the last one.
double Add(const std::vector<Member>& members, std::map<int32_t, Lost>& lost) {
  const auto last = std::min_element(
      members.begin(), members.end(),
      [](const Member& a, const Member& b) { return a.op->dur_ns < b.op->dur_ns; });
  std::vector<double> others;
  for (auto one = members.begin(); one != members.end(); ++one) {
    if (one != last) others.push_back(static_cast<double>(one->op->dur_ns - last->op->dur_ns));
  }
  const double ns = MedianOf(std::move(others));
  Lost& of_last = lost[last->rank];
  of_last.ns += ns;
  ++of_last.count;
  if (ns > of_last.worst_ns) {
    of_last.worst_ns = ns;
    of_last.worst = *last;
  }
  return static_cast<double>(last->op->dur_ns);
}

}  // namespace

std::vector<Arrival> ArrivalsOf(std::span<const RankWork* const> ranks) {
  std::vector<Arrival> arrivals;
  for (const auto& [key, types] : GroupsOf(ranks)) {
    size_t most = 0;
    for (const auto& [type, list] : types) {
      for (const auto& members : list) most = std::max(most, members.size());
    }
    Arrival arrival{
        .step = key.first, .group = std::string(key.second), .ranks = static_cast<int64_t>(most)};
    std::map<int32_t, Lost> lost;
    for (const auto& [type, list] : types) {
      for (const auto& members : list) {
        if (members.size() < most || most < 2) continue;
        ++arrival.collectives;
        arrival.transfer_ns += Add(members, lost);
      }
    }
    const auto worst = std::max_element(lost.begin(), lost.end(), [](const auto& a, const auto& b) {
      return a.second.ns < b.second.ns;
    });
    if (worst == lost.end()) continue;
    arrival.last_rank = worst->first;
    arrival.last_count = worst->second.count;
    arrival.lost_ns = worst->second.ns;
    arrival.worst = worst->second.worst.name;
    arrival.worst_ns = worst->second.worst_ns;
    arrival.ts = worst->second.worst.op->ts;
    arrivals.push_back(std::move(arrival));
  }
  return arrivals;
}

}  // namespace sonde::recipes::slow_rank
