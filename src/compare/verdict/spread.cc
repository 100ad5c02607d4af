#include "compare/verdict/spread.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace sonde::compare {
namespace {

// The continued fraction of the incomplete beta function, by Lentz's method.
double BetaFraction(double a, double b, double x) {
  constexpr int kMostTerms = 300;
  constexpr double kEnough = 1e-14;
  constexpr double kTiny = 1e-300;
  const auto kept = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1;
  double d = 1 / kept(1 - (a + b) * x / (a + 1));
  double sum = d;
  for (int m = 1; m <= kMostTerms; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / kept(1 + even * d);
    c = kept(1 + even / c);
    sum *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / kept(1 + odd * d);
    c = kept(1 + odd / c);
    sum *= d * c;
    if (std::abs(d * c - 1) < kEnough) break;
  }
  return sum;
}

// Regularized.
double IncompleteBeta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                a * std::log(x) + b * std::log1p(-x));
  return x < (a + 1) / (a + b + 2) ? front * BetaFraction(a, b, x) / a
                                   : 1 - front * BetaFraction(b, a, 1 - x) / b;
}

double FreedomOf(const Spread& a, const Spread& b) {
  const double x = a.variance / static_cast<double>(a.steps);
  const double y = b.variance / static_cast<double>(b.steps);
  const double below =
      x * x / static_cast<double>(a.steps - 1) + y * y / static_cast<double>(b.steps - 1);
  return below > 0 ? (x + y) * (x + y) / below : static_cast<double>(a.steps + b.steps - 2);
}

// Twice the ranks from 1 on of all values; equal ones share the mean of theirs.
std::vector<int64_t> DoubledRanks(std::span<const double> base,
                                  std::span<const double> comparison) {
  std::vector<double> sorted(base.begin(), base.end());
  sorted.insert(sorted.end(), comparison.begin(), comparison.end());
  std::vector<int64_t> ranks;
  const std::vector<double> values = sorted;
  std::sort(sorted.begin(), sorted.end());
  for (const double value : values) {
    const auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), value);
    ranks.push_back((first - sorted.begin()) + (last - sorted.begin()) + 1);
  }
  return ranks;
}

// In how many of all choices of `count` ranks each sum comes up, as a share of them.
std::vector<double> SharesOfSums(const std::vector<int64_t>& ranks, size_t count) {
  int64_t all = 0;
  for (const int64_t rank : ranks) all += rank;
  const auto width = static_cast<size_t>(all) + 1;
  std::vector<std::vector<double>> ways(count + 1, std::vector<double>(width, 0));
  ways[0][0] = 1;
  for (const int64_t rank : ranks) {
    const auto by = static_cast<size_t>(rank);
    for (size_t chosen = count; chosen-- > 0;) {
      for (size_t sum = width - by; sum-- > 0;) ways[chosen + 1][sum + by] += ways[chosen][sum];
    }
  }
  double total = 0;
  for (const double way : ways[count]) total += way;
  for (double& way : ways[count]) way /= total;
  return std::move(ways[count]);
}

double NormalTail(double z) { return std::erfc(std::abs(z) / std::numbers::sqrt2); }

// How many of the smallest, and of the largest, differences of n times m the interval leaves out.
size_t LeftOut(size_t n, size_t m, double alpha) {
  if (n + m > kExactRanks) {
    const auto pairs = static_cast<double>(n) * static_cast<double>(m);
    const double deviation = std::sqrt(pairs * static_cast<double>(n + m + 1) / 12);
    constexpr double kMany = 1e6;  // Student's t of many values is normal
    const double reach = StudentLimit(alpha, kMany) * deviation;
    return reach >= pairs / 2 ? 0 : static_cast<size_t>(pairs / 2 - reach);
  }
  std::vector<int64_t> ranks;
  for (size_t i = 0; i < n + m; ++i) ranks.push_back(static_cast<int64_t>(i) + 1);
  const std::vector<double> shares = SharesOfSums(ranks, n);
  double below = 0;
  size_t left_out = 0;
  for (size_t sum = n * (n + 1) / 2; sum < shares.size(); ++sum, ++left_out) {
    below += shares[sum];
    if (below > alpha / 2) break;
  }
  return left_out;
}

}  // namespace

Spread SpreadOf(std::span<const double> values) {
  Spread spread;
  spread.steps = static_cast<int64_t>(values.size());
  if (values.empty()) return spread;
  for (const double value : values) spread.mean_ms += value / static_cast<double>(values.size());
  if (values.size() < 2) return spread;
  for (const double value : values) {
    const double off = value - spread.mean_ms;
    spread.variance += off * off / static_cast<double>(values.size() - 1);
  }
  return spread;
}

double StudentTail(double t, double freedom) {
  constexpr double kHalf = 0.5;
  return IncompleteBeta(freedom / 2, kHalf, freedom / (freedom + t * t));
}

double StudentLimit(double alpha, double freedom) {
  double low = 0;
  double high = 1;
  while (StudentTail(high, freedom) > alpha) high *= 2;
  constexpr int kHalvings = 60;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (StudentTail(middle, freedom) > alpha ? low : high) = middle;
  }
  return high;
}

Gap GapOf(const Spread& base, const Spread& comparison, double alpha) {
  Gap gap;
  gap.diff = comparison.mean_ms - base.mean_ms;
  if (base.steps < 2 || comparison.steps < 2) return gap;
  const double error = std::sqrt(base.variance / static_cast<double>(base.steps) +
                                 comparison.variance / static_cast<double>(comparison.steps));
  const double reach = StudentLimit(alpha, FreedomOf(base, comparison)) * error;
  gap.low = gap.diff - reach;
  gap.high = gap.diff + reach;
  gap.is_known = true;
  return gap;
}

double RankTail(std::span<const double> base, std::span<const double> comparison) {
  const size_t n = base.size();
  const size_t m = comparison.size();
  if (n == 0 || m == 0) return 1;
  const std::vector<int64_t> ranks = DoubledRanks(base, comparison);
  int64_t sum = 0;
  for (size_t i = 0; i < n; ++i) sum += ranks[i];
  const auto usual = static_cast<int64_t>(n * (n + m + 1));
  const int64_t off = std::abs(sum - usual);
  if (n + m > kExactRanks) {
    double ties = 0;  // doubled ranks vary less by them
    for (const int64_t rank : ranks) {
      const double from_mean = static_cast<double>(rank) - static_cast<double>(n + m + 1);
      ties += from_mean * from_mean;
    }
    const auto all = static_cast<double>(n + m);
    const double variance =
        static_cast<double>(n) * static_cast<double>(m) / (all * (all - 1)) * ties;
    return variance <= 0 ? 1 : NormalTail(static_cast<double>(off) / std::sqrt(variance));
  }
  const std::vector<double> shares = SharesOfSums(ranks, n);
  double tail = 0;
  for (size_t i = 0; i < shares.size(); ++i) {
    if (std::abs(static_cast<int64_t>(i) - usual) >= off) tail += shares[i];
  }
  return std::min(tail, 1.0);
}

double LeastRankTail(size_t base, size_t comparison) {
  double choices = 1;
  for (size_t i = 1; i <= comparison; ++i) {
    choices *= static_cast<double>(base + i) / static_cast<double>(i);
  }
  return std::min(2 / choices, 1.0);
}

Gap RankGapOf(std::span<const double> base, std::span<const double> comparison, double alpha) {
  Gap gap;
  if (base.empty() || comparison.empty()) return gap;
  std::vector<double> differences;
  for (const double a : base) {
    for (const double b : comparison) differences.push_back(b - a);
  }
  std::sort(differences.begin(), differences.end());
  const size_t count = differences.size();
  gap.diff = (differences[(count - 1) / 2] + differences[count / 2]) / 2;
  const size_t left_out = LeftOut(base.size(), comparison.size(), alpha);
  if (left_out == 0 || 2 * left_out > count) return gap;
  gap.low = differences[left_out - 1];
  gap.high = differences[count - left_out];
  gap.is_known = true;
  return gap;
}

}  // namespace sonde::compare
