#include "recipes/slow_rank/job.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/strings.h"
#include "recipes/slow_rank/outliers.h"

namespace sonde::recipes::slow_rank {
namespace {

constexpr double kAlikeShare = 0.5;

using Names = std::set<std::string_view>;

Names KernelNames(const RankOfJob& rank) {
  Names names;
  for (const WorkTasks& tasks : rank.Rows<WorkTasks>()) {
    if (tasks.kind == WorkKind::kCompute) names.insert(rank.Text(tasks.name));
  }
  return names;
}

bool AreAlike(const Names& a, const Names& b) {
  size_t common = 0;
  for (const std::string_view name : a) common += b.contains(name) ? 1 : 0;
  const size_t all = a.size() + b.size() - common;
  return static_cast<double>(common) >= kAlikeShare * static_cast<double>(all);
}

void SetSteps(Role& role) {
  std::map<int64_t, size_t> counts;
  for (const RankOfJob& rank : role.ranks) {
    for (const WorkStep& step : rank.Rows<WorkStep>()) ++counts[step.step];
  }
  for (const auto& [step, count] : counts) {
    if (count == role.ranks.size()) role.steps.push_back(step);
  }
  for (const RankOfJob& rank : role.ranks) {
    std::map<int64_t, int32_t> places;
    int32_t place = 0;
    for (const WorkStep& step : rank.Rows<WorkStep>()) places[step.step] = place++;
    std::vector<int32_t>& list = role.places.emplace_back();
    for (const int64_t step : role.steps) list.push_back(places.at(step));
  }
}

}  // namespace

std::vector<Role> RolesOf(std::span<const RankWork* const> ranks) {
  std::map<std::string, std::vector<std::pair<Names, Role>>> kinds;
  for (const RankWork* work : ranks) {
    const RankOfJob rank(*work);
    if (rank.Rows<WorkFacts>().empty() || rank.Rows<WorkStep>().empty()) continue;
    const WorkFacts& facts = rank.Rows<WorkFacts>().front();
    auto& list = kinds[base::Concat(std::to_string(facts.stage), " ", facts.transfers)];
    const Names names = KernelNames(rank);
    auto found = std::find_if(list.begin(), list.end(),
                              [&](const auto& one) { return AreAlike(one.first, names); });
    if (found == list.end()) found = list.insert(list.end(), {names, Role{}});
    found->second.ranks.push_back(rank);
  }
  std::vector<Role> roles;
  for (auto& [kind, list] : kinds) {
    for (auto& [names, role] : list) {
      SetSteps(role);
      for (const RankOfJob& rank : role.ranks) role.outliers.push_back(OutliersOf(rank));
      roles.push_back(std::move(role));
    }
  }
  return roles;
}

}  // namespace sonde::recipes::slow_rank
