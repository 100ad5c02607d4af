#include "compare/verdict/spread.h"

#include <cmath>

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

}  // namespace sonde::compare
