#include "recipes/slow_rank/group_link.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/strings.h"
#include "recipes/slow_rank/link.h"

namespace sonde::recipes::slow_rank {
namespace {

struct Call {
  int64_t least_ns = INT64_MAX;
  size_t members = 0;
};
using CallsOfType =
    std::map<std::pair<std::string_view, int64_t>, std::vector<Call>>;  // type, size

struct GroupCalls {
  std::set<int64_t> ranks;
  std::map<int64_t, CallsOfType> steps;  // by number
};
using ByName = std::map<std::string_view, GroupCalls>;

ByName CallsByGroup(std::span<const RankWork* const> ranks) {
  ByName groups;
  for (const RankWork* rank : ranks) {
    std::map<std::tuple<int32_t, int32_t, int32_t, int64_t>, size_t> numbers;
    const auto text = [&](int32_t place) { return rank->texts.At(place); };
    for (const WorkCollective& op : rank->Rows<WorkCollective>()) {
      if (op.is_p2p || op.transit_ns >= 0) continue;
      const int64_t step = rank->Rows<WorkStep>()[static_cast<size_t>(op.step)].step;
      GroupCalls& group = groups[text(op.group)];
      group.ranks.insert(rank->rank);
      std::vector<Call>& calls = group.steps[step][{text(op.type), op.size_bytes}];
      const size_t number = numbers[{op.step, op.group, op.type, op.size_bytes}]++;
      if (calls.size() <= number) calls.resize(number + 1);
      calls[number].least_ns = std::min(calls[number].least_ns, op.dur_ns);
      ++calls[number].members;
    }
  }
  return groups;
}

// Key of a kind of groups: ranks, steps, and the collectives of each; "" where one of its
// collectives lacks a rank.
std::string KindOf(const GroupCalls& group) {
  if (group.ranks.size() < 2) return {};
  std::string kind = std::to_string(group.ranks.size());
  for (const auto& [step, types] : group.steps) {
    kind += base::Concat(";", std::to_string(step));
    for (const auto& [type, calls] : types) {
      kind += base::Concat(",", type.first, " ", std::to_string(type.second), " ",
                           std::to_string(calls.size()));
      for (const Call& call : calls) {
        if (call.members != group.ranks.size()) return {};
      }
    }
  }
  return kind;
}

double TimeOf(const CallsOfType& types) {
  double ns = 0;
  for (const auto& [type, calls] : types) {
    for (const Call& call : calls) ns += static_cast<double>(call.least_ns);
  }
  return ns;
}

// The middle own work of all ranks in a step.
double MiddleWork(std::span<const RankWork* const> ranks, int64_t step) {
  std::vector<double> own;
  for (const RankWork* rank : ranks) {
    for (const WorkStep& work : rank->Rows<WorkStep>()) {
      if (work.step == step) own.push_back(static_cast<double>(work.own_ns()));
    }
  }
  return own.empty() ? 0 : MedianOf(std::move(own));
}

std::string LongestType(const GroupCalls& group) {
  std::map<std::string_view, double> types;
  for (const auto& [step, calls] : group.steps) {
    for (const auto& [type, list] : calls) types[type.first] += TimeOf({{type, list}});
  }
  const auto most = std::ranges::max_element(types, {}, [](const auto& one) { return one.second; });
  return std::string(most->first);
}

using OfKind = std::vector<std::pair<std::string_view, const GroupCalls*>>;

void AddSlow(std::span<const RankWork* const> ranks, const OfKind& groups,
             std::vector<SlowGroup>& found) {
  std::vector<int64_t> steps;
  std::vector<std::vector<double>> times(groups.size());  // [group][step]
  for (const auto& [step, types] : groups.front().second->steps) {
    steps.push_back(step);
    for (size_t i = 0; i < groups.size(); ++i) {
      times[i].push_back(TimeOf(groups[i].second->steps.at(step)));
    }
  }
  std::vector<std::vector<double>> values = times;
  for (size_t at = 0; at < steps.size(); ++at) {
    std::vector<double> column;
    for (const auto& row : times) column.push_back(row[at]);
    const double more = MiddleWork(ranks, steps[at]) - MedianOf(std::move(column));
    for (auto& row : values) row[at] = std::max(row[at] + more, 1.0);
  }
  for (Excess& excess : FindExcesses(values)) {
    const auto& [name, group] = groups[excess.place];
    double own = 0;
    std::vector<double> others;
    for (size_t i = 0; i < groups.size(); ++i) {
      double sum = 0;
      for (const size_t step : excess.steps) sum += times[i][step];
      sum /= static_cast<double>(excess.steps.size());
      if (i == excess.place) {
        own = sum;
      } else {
        others.push_back(sum);
      }
    }
    const double middle = MedianOf(std::move(others));
    if (own < (1 + kLinkShare) * middle) continue;
    std::vector<std::string> members;
    for (const int64_t rank : group->ranks) members.push_back(std::to_string(rank));
    found.push_back({.name = std::string(name),
                     .ranks = base::Join(members, ","),
                     .type = LongestType(*group),
                     .excess = std::move(excess),
                     .steps = steps,
                     .own_ns = own,
                     .others_ns = middle,
                     .peers = groups.size() - 1});
  }
}

}  // namespace

std::vector<SlowGroup> SlowGroupsOf(std::span<const RankWork* const> ranks) {
  const ByName all = CallsByGroup(ranks);
  std::map<std::string, OfKind> kinds;
  for (const auto& [name, group] : all) {
    std::string kind = KindOf(group);
    if (!kind.empty()) kinds[std::move(kind)].emplace_back(name, &group);
  }
  constexpr size_t kLeastGroups = 3;
  std::vector<SlowGroup> found;
  for (const auto& [kind, groups] : kinds) {
    if (groups.size() >= kLeastGroups) AddSlow(ranks, groups, found);
  }
  return found;
}

}  // namespace sonde::recipes::slow_rank
