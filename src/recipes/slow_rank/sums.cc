#include "recipes/slow_rank/sums.h"

#include <algorithm>
#include <tuple>

namespace sonde::recipes::slow_rank {
namespace {

void Add(const WorkTasks& tasks, int64_t outlier_ns, TaskSum& sum) {
  sum.count += static_cast<double>(tasks.count);
  sum.ns += static_cast<double>(tasks.dur_ns - outlier_ns);
  if (tasks.longest_ns > sum.longest_ns) {
    std::tie(sum.longest_ns, sum.ts) = std::pair(tasks.longest_ns, tasks.ts);
  }
}

}  // namespace

RankSums SumsOf(const Role& role, size_t rank, const std::vector<size_t>& steps) {
  const RankOfJob& one = role.ranks[rank];
  RankSums sums;
  std::vector<bool> counts(one.Rows<WorkStep>().size(), false);
  double frequency = 0;
  double weight = 0;
  for (const size_t step : steps) {
    const WorkStep& work = role.StepOf(rank, step);
    counts[static_cast<size_t>(role.places[rank][step])] = true;
    const StepParts parts = role.PartsOf(rank, step);
    sums.compute += static_cast<double>(parts.compute_ns);
    sums.copies += static_cast<double>(parts.copy_ns);
    sums.late += static_cast<double>(parts.late_ns);
    sums.waiting += static_cast<double>(parts.idle_ns);
    if (work.mhz < 0) continue;
    frequency += work.mhz * static_cast<double>(work.compute_ns);
    weight += static_cast<double>(work.compute_ns);
  }
  if (weight > 0) sums.mhz = frequency / weight;
  const std::vector<WorkTasks>& rows = one.Rows<WorkTasks>();
  for (size_t i = 0; i < rows.size(); ++i) {
    const WorkTasks& tasks = rows[i];
    if (!counts[static_cast<size_t>(tasks.step)]) continue;
    const int64_t outlier_ns = role.outliers[rank][i];
    const std::string_view name = one.Text(tasks.name);
    Add(tasks, outlier_ns,
        tasks.kind == WorkKind::kCopy ? sums.copy_names[name]
                                      : sums.kernels[name][one.Text(tasks.shapes)]);
  }
  for (const WorkHost& host : one.Rows<WorkHost>()) {
    if (!counts[static_cast<size_t>(host.step)]) continue;
    TaskSum& sum = sums.host[one.Text(host.name)];
    sum.ns += static_cast<double>(host.self_ns);
    if (host.longest_ns > sum.longest_ns) {
      std::tie(sum.longest_ns, sum.ts) = std::pair(host.longest_ns, host.ts);
    }
  }
  return sums;
}

}  // namespace sonde::recipes::slow_rank
