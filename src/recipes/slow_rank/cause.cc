#include "recipes/slow_rank/cause.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "base/strings.h"
#include "recipes/slow_rank/kernels.h"
#include "recipes/slow_rank/sums.h"

namespace sonde::recipes::slow_rank {
namespace {

constexpr double kLowerFrequency = 0.5;  // of the slowdown

std::vector<RankSums> SumsOfOthers(const Role& role, const Excess& excess,
                                   const std::vector<size_t>& slow) {
  std::vector<RankSums> others;
  for (size_t rank = 0; rank < role.ranks.size(); ++rank) {
    const bool is_slow = std::find(slow.begin(), slow.end(), rank) != slow.end();
    if (rank != excess.place && !is_slow) others.push_back(SumsOf(role, rank, excess.steps));
  }
  return others;
}

// What grew most of named times, where it explains enough of `ns`.
struct Grown {
  std::string_view name;
  double ns = 0;
  double others = 0;
  int64_t ts = 0;
};
std::vector<Grown> GrownOf(const std::map<std::string_view, TaskSum>& own,
                           const std::vector<RankSums>& others,
                           std::map<std::string_view, TaskSum> RankSums::* member) {
  std::vector<Grown> list;
  for (const auto& [name, sum] : own) {
    const double median = MedianOf(others, [&](const RankSums& rank) {
      const auto found = (rank.*member).find(name);
      return found == (rank.*member).end() ? 0 : found->second.ns;
    });
    list.push_back({name, sum.ns - median, median, sum.ts});
  }
  std::sort(list.begin(), list.end(), [](const Grown& a, const Grown& b) { return a.ns > b.ns; });
  return list;
}

Cause HostCause(const RankSums& own, const std::vector<RankSums>& others, double ns) {
  Cause cause{.kind = CauseKind::kHost, .ns = ns, .own = own.late};
  cause.others = MedianOf(others, [](const RankSums& rank) { return rank.late; });
  const std::vector<Grown> grown = GrownOf(own.host, others, &RankSums::host);
  if (grown.empty() || grown.front().ns < kExplained * ns) return cause;
  const Grown* best = &grown.front();
  for (const Grown& one : grown) {
    const bool is_known = ActivityOf(one.name) != HostActivity::kOther;
    if (!is_known || one.ns < grown.front().ns / 2) continue;
    best = &one;
    break;
  }
  cause.what = best->name;
  cause.activity = ActivityOf(best->name);
  cause.ts = best->ts;
  return cause;
}

Cause CopyCause(const RankSums& own, const std::vector<RankSums>& others, double ns) {
  Cause cause{.kind = CauseKind::kCopy, .ns = ns, .own = own.copies};
  cause.others = MedianOf(others, [](const RankSums& rank) { return rank.copies; });
  const std::vector<Grown> grown = GrownOf(own.copy_names, others, &RankSums::copy_names);
  if (!grown.empty()) {
    cause.what = grown.front().name;
    cause.ts = grown.front().ts;
  }
  return cause;
}

// Whether it is all kernels and not one.
bool IsFrequency(const KernelShares& kernels, const RankSums& own, double mhz) {
  const double rest = kernels.common_ns - kernels.slowest.common_ns;
  if (kernels.slower_ns <= 0 || kernels.slowest.slower_ns <= 0) return false;
  const double all = kernels.slower_ns / kernels.common_ns;
  if (own.mhz > 0 && mhz > 0) return mhz / own.mhz - 1 >= kLowerFrequency * all;
  const double of_rest = rest > 0 ? (kernels.slower_ns - kernels.slowest.slower_ns) / rest : 0;
  return of_rest >= kAlikeSlow * kernels.slowest.slower_ns / kernels.slowest.common_ns;
}

Cause SlowerCause(const KernelShares& kernels, const RankSums& own,
                  const std::vector<RankSums>& others, double ns) {
  const KernelShare& slowest = kernels.slowest;
  Cause cause{.kind = CauseKind::kKernel,
              .ns = ns,
              .what = std::string(slowest.name),
              .shapes = std::string(slowest.shapes),
              .own = slowest.own_per_call,
              .others = slowest.per_call,
              .calls = slowest.common,
              .factor = slowest.per_call > 0 ? slowest.own_per_call / slowest.per_call - 1 : 0,
              .ts = slowest.ts};
  const double mhz = MedianOf(others, [](const RankSums& rank) { return rank.mhz; });
  if (!IsFrequency(kernels, own, mhz)) return cause;
  cause.kind = CauseKind::kFrequency;
  cause.own = own.mhz;
  cause.others = mhz;
  cause.factor = kernels.slower_ns / kernels.common_ns;
  return cause;
}

Cause WorkCause(const KernelShares& kernels, double ns) {
  const KernelShare& most = kernels.most;
  return {.kind = CauseKind::kWork,
          .ns = ns,
          .what = std::string(most.name),
          .shapes = std::string(most.shapes),
          .of_others = std::string(most.shapes_of_others),
          .own = most.own_count,
          .others = most.count,
          .ts = most.ts};
}

}  // namespace

std::string_view NameOf(CauseKind kind) {
  constexpr std::array<std::string_view, 7> kNames = {
      "slow kernel", "low frequency", "more work", "memory copies", "host", "device idle", "link"};
  return kNames[static_cast<size_t>(kind)];
}

std::vector<Cause> CausesOf(const Role& role, const Excess& excess,
                            const std::vector<size_t>& slow) {
  const RankSums own = SumsOf(role, excess.place, excess.steps);
  std::vector<RankSums> others = SumsOfOthers(role, excess, slow);
  if (others.empty()) others = SumsOfOthers(role, excess, {});
  const auto grown = [&](double RankSums::* member) {
    return own.*member - MedianOf(others, [&](const RankSums& rank) { return rank.*member; });
  };
  const KernelShares kernels = ShareKernels(own, others);
  // Kernels may run in parallel: their sum is scaled to the covered time.
  const double compute = grown(&RankSums::compute);
  const double all = kernels.slower_ns + kernels.more_ns;
  const double scale = compute > 0 && all > 0 ? compute / all : 0;
  std::vector<Cause> causes = {
      SlowerCause(kernels, own, others, kernels.slower_ns * scale),
      WorkCause(kernels, kernels.more_ns * scale),
      CopyCause(own, others, grown(&RankSums::copies)),
      HostCause(own, others, grown(&RankSums::late)),
      {.kind = CauseKind::kDevice, .ns = grown(&RankSums::waiting), .own = own.waiting},
  };
  std::sort(causes.begin(), causes.end(),
            [](const Cause& a, const Cause& b) { return a.ns > b.ns; });
  const auto steps = static_cast<double>(excess.steps.size());
  for (Cause& cause : causes) {
    cause.ns /= steps;
    cause.calls /= steps;
    const bool is_a_step = cause.kind != CauseKind::kKernel && cause.kind != CauseKind::kFrequency;
    if (!is_a_step) continue;
    cause.own /= steps;
    cause.others /= steps;
  }
  const auto end = std::find_if(causes.begin() + 1, causes.end(), [&](const Cause& cause) {
    return cause.ns < kAlsoShare * excess.value;
  });
  causes.erase(end, causes.end());
  return causes;
}

}  // namespace sonde::recipes::slow_rank
