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

void SetOutliers(Role& role) {
  for (const RankOfJob& rank : role.ranks) {
    std::vector<int64_t>& sums = role.step_outliers.emplace_back(rank.Rows<WorkStep>().size(), 0);
    const std::vector<int64_t>& outliers = role.outliers.emplace_back(OutliersOf(rank));
    for (size_t i = 0; i < outliers.size(); ++i) {
      sums[static_cast<size_t>(rank.Rows<WorkTasks>()[i].step)] += outliers[i];
    }
  }
}

}  // namespace

StepParts Role::PartsOf(size_t rank, size_t step) const {
  const WorkStep& work = StepOf(rank, step);
  // Kernels may run in parallel, so these are not all of what is computed.
  const int64_t outlier =
      std::min(step_outliers[rank][static_cast<size_t>(places[rank][step])], work.compute_ns / 2);
  const int64_t late = std::min(work.late_ns, work.free_ns);
  const int64_t unserved = std::max<int64_t>(work.unserved_ns - outlier, 0);
  const int64_t unserved_late = std::min({work.unserved_late_ns, unserved, late});
  const int64_t compute = work.compute_ns - outlier;
  const int64_t unserved_compute = std::min(unserved - unserved_late, compute);
  return {.compute_ns = compute - unserved_compute,
          .copy_ns = work.copy_ns,
          .late_ns = late - unserved_late,
          .idle_ns = work.free_ns - late,
          .unserved_ns = unserved_compute + unserved_late};
}

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
      SetOutliers(role);
      roles.push_back(std::move(role));
    }
  }
  return roles;
}

}  // namespace sonde::recipes::slow_rank
