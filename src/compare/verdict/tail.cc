// Where a change of P99 comes from: the parts of the slowest requests of both sides.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/strings.h"
#include "compare/verdict/verdict.h"
#include "recipes/request_time/usual.h"

namespace sonde::compare {
namespace {

constexpr std::string_view kPartPrefix = "part ";

// The times of a side's requests and, of each part, those of its slowest ones.
struct TailOfSide {
  std::vector<double> times_ms;
  std::vector<std::pair<std::string_view, double>> parts_ms;  // means over the tail
  double p99_ms = 0;
  double spread_ms = 0;
};

double QuantileOfTimes(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const double at = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (at - static_cast<double>(below)) * (values[above] - values[below]);
}

double RobustSpread(const std::vector<double>& times_ms) {
  std::vector<int64_t> times_ns;
  for (const double ms : times_ms) times_ns.push_back(std::llround(ms * 1e6));
  return recipes::SpreadOf(times_ns) / 1e6;
}

TailOfSide TailOf(const Side& side) {
  TailOfSide tail;
  std::vector<const ServingValues*> parts;
  for (const ServingValues& one : side.serving) {
    if (one.measure.starts_with(kPartPrefix)) parts.push_back(&one);
  }
  if (parts.empty()) return tail;
  tail.times_ms.resize(parts.front()->values.size());
  for (const ServingValues* part : parts) {
    if (part->values.size() != tail.times_ms.size()) return {};
    for (size_t i = 0; i < part->values.size(); ++i) tail.times_ms[i] += part->values[i];
  }
  constexpr double kP99 = 0.99;
  tail.p99_ms = QuantileOfTimes(tail.times_ms, kP99);
  tail.spread_ms = RobustSpread(tail.times_ms);
  std::vector<size_t> slowest;
  for (size_t i = 0; i < tail.times_ms.size(); ++i) {
    if (tail.times_ms[i] >= tail.p99_ms) slowest.push_back(i);
  }
  for (const ServingValues* part : parts) {
    const double sum = std::accumulate(slowest.begin(), slowest.end(), 0.0,
                                       [&](double all, size_t i) { return all + part->values[i]; });
    tail.parts_ms.emplace_back(part->measure.substr(kPartPrefix.size()),
                               sum / static_cast<double>(slowest.size()));
  }
  return tail;
}

// P99 of few requests is one of them: a change has to be beyond what the requests of a side differ
// by among themselves.
bool IsChange(const TailOfSide& base, const TailOfSide& comparison) {
  constexpr double kLeastShare = 0.2;
  constexpr double kSpreads = 6;
  const double diff_ms = std::abs(comparison.p99_ms - base.p99_ms);
  return diff_ms > kLeastShare * base.p99_ms &&
         diff_ms > kSpreads * std::max(base.spread_ms, comparison.spread_ms);
}

}  // namespace

TailChange CompareTails(const Side& base, const Side& comparison) {
  const TailOfSide before = TailOf(base);
  const TailOfSide after = TailOf(comparison);
  if (before.parts_ms.empty() || before.parts_ms.size() != after.parts_ms.size()) return {};
  TailChange change;
  change.p99_ms[0] = before.p99_ms;
  change.p99_ms[1] = after.p99_ms;
  change.is_change = IsChange(before, after);
  for (size_t i = 0; i < before.parts_ms.size(); ++i) {
    change.parts_ms.emplace_back(before.parts_ms[i].first,
                                 after.parts_ms[i].second - before.parts_ms[i].second);
  }
  const double sign = change.p99_ms[1] < change.p99_ms[0] ? -1 : 1;
  std::stable_sort(change.parts_ms.begin(), change.parts_ms.end(),
                   [&](const auto& a, const auto& b) { return sign * a.second > sign * b.second; });
  return change;
}

}  // namespace sonde::compare
